import type { TcpFault } from '../../../../harness/network/tcp-front.ts';
import type { FaultKind, NodeTarget } from '../fault-kind.ts';

type Row = readonly [name: string, fault: TcpFault, weight: number];

const ROWS: readonly Row[] = [
  ['connections cut', { kind: 'reset' }, 10],
  ['cut in mid-frame', { kind: 'cutAfter', bytes: [0, 300], ending: 'reset' }, 10],
  ['truncated', { kind: 'cutAfter', bytes: [0, 300], ending: 'end' }, 8],
  ['delayed', { kind: 'delay', ms: [20, 420] }, 5],
  ['accepted, and silence', { kind: 'hold', directions: ['toServer', 'toClient'] }, 5],
  ['refused', { kind: 'refuse' }, 1],
  ['bytes corrupted', { kind: 'corruptFraming' }, 6],
];

/** Between the wrapper and all of its clients. */
export const clientFaults: readonly FaultKind<NodeTarget>[] = [
  ...ROWS.map(
    ([name, fault, weight]): FaultKind<NodeTarget> => ({
      room: 'clients',
      name,
      weight,
      strike: async ({ node }) => {
        const active = await node.harmClients(fault);
        // Only a new request begins with bytes in which damage can be noticed.
        if (fault.kind === 'corruptFraming') await node.cutClients();
        return active;
      },
    }),
  ),
  {
    room: 'clients',
    name: 'packets dropped',
    weight: 5,
    strike: async ({ node }) => await node.dropPackets(),
  },
];
