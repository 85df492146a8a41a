import { HOLD, type TcpFault } from '../../../../harness/network/tcp-front.ts';
import type { FaultKind, NodeTarget } from '../fault-kind.ts';

type Row = readonly [name: string, fault: TcpFault];

const ROWS: readonly Row[] = [
  ['connections cut', { kind: 'reset' }],
  ['cut in mid-frame', { kind: 'cutAfter', bytes: [0, 300], ending: 'reset' }],
  ['truncated', { kind: 'cutAfter', bytes: [0, 300], ending: 'end' }],
  ['delayed', { kind: 'delay', ms: [20, 420] }],
  ['accepted, and silence', HOLD],
  ['refused', { kind: 'refuse' }],
  ['bytes corrupted', { kind: 'corruptFraming' }],
];

/** Between the wrapper and all of its clients. */
export const clientFaults: readonly FaultKind<NodeTarget>[] = [
  ...ROWS.map(
    ([name, fault]): FaultKind<NodeTarget> => ({
      room: 'clients',
      name,
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
    strike: async ({ node }) => await node.dropPackets(),
  },
];
