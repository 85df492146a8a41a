import {
  type ActiveTcpFault,
  DROP_OLD,
  HOLD,
  type TcpFault,
} from '../../../../harness/network/tcp-front.ts';
import type { ActiveFault } from '../active-fault.ts';
import { BOUNDS, type Problem } from '../bounds.ts';
import type { FaultFront } from '../fault-front.ts';
import type { FaultKind } from '../fault-kind.ts';

type Row = readonly [
  name: string,
  fault: TcpFault,
  more?: Pick<FaultKind, 'unreachable' | 'seconds' | 'needs'>,
];

const FAILING = { unreachable: 'failing' } as const;
const SILENT = { unreachable: 'silent' } as const;

const ROWS: readonly Row[] = [
  ['all connections reset once', { kind: 'reset' }, { seconds: [0.1, 3] }],
  ['connections reset every 0.2 s', { kind: 'reset', everyMs: 200 }],
  ['connections reset every 2 s', { kind: 'reset', everyMs: 2_000 }],
  ['refused', { kind: 'refuse' }, FAILING],
  ['half of the new connections refused', { kind: 'refuseSome', share: 0.5 }],
  ['only one connection allowed', { kind: 'limit', connections: 1 }],
  ['accepted, then silence', { kind: 'hang' }, SILENT],
  ['accepted, then closed', { kind: 'close' }, FAILING],
  ...oldConnections('', { needs: 'http2' }),
  ...oldConnections(' over HTTP/1.1', { needs: 'http1' }),
  ['all packets lost', HOLD, SILENT],
  ['packets to the client lost', { kind: 'hold', directions: ['toClient'] }, SILENT],
  [
    'packets to the server lost',
    { kind: 'hold', directions: ['toServer'] },
    { ...SILENT, seconds: [33, 120] },
  ],
  ['bytes stop for 1 s, again and again', { kind: 'stutter', ms: 1_000 }],
  ['bytes stop for 5 s, again and again', { kind: 'stutter', ms: 5_000 }],
  ['latency of 100 to 400 ms', { kind: 'delay', ms: [100, 400] }],
  ['latency of 1 to 3 s', { kind: 'delay', ms: [1_000, 3_000] }],
  ['2 KB a second', { kind: 'slow', bytesPerSecond: 2_048 }],
  ['cut in mid-frame by a reset', { kind: 'cutAfter', bytes: [0, 6_000], ending: 'reset' }],
  ['truncated in mid-frame by an end', { kind: 'cutAfter', bytes: [0, 6_000], ending: 'end' }],
  ['a byte corrupted', { kind: 'corrupt', afterBytes: [0, 6_000] }],
];

/** A middle box that has forgotten the open connections, and keeps them alive all the same. */
function oldConnections(where: string, more: NonNullable<Row[2]>): readonly Row[] {
  const drop = (what: string, fault: TcpFault): Row => [
    `old connections${where} drop ${what}`,
    fault,
    more,
  ];
  return [
    drop('everything, new ones work', DROP_OLD),
    drop('what is sent to the client', { kind: 'dropOld', directions: ['toClient'] }),
    drop('what is sent to the server', { kind: 'dropOld', directions: ['toServer'] }),
  ];
}

/** Below TLS: the network and what is in it. */
export const connectionFaults: readonly FaultKind[] = ROWS.map(([name, fault, more = {}]) => ({
  room: 'connection' as const,
  name,
  ...more,
  strike: async (target) => {
    const { front } = target;
    const active = await front.beginTcp(fault);
    // New connections are what these are for.
    if (['slow', 'cutAfter', 'corrupt'].includes(fault.kind)) front.cut();
    if (fault.kind !== 'dropOld') return active;
    return fault.directions.includes('toClient')
      ? untilNoticed(active, BOUNDS.deadPeerMs[front.protocol])
      : { hits: active.hits, end: async () => await endByReset(active, front) };
  },
}));

/** Events still arrive, so the wrapper may not notice before it sends something; then the path resets it. */
async function endByReset(active: ActiveTcpFault, front: FaultFront): Promise<void> {
  await active.end();
  front.cut();
}

/** The old connections stay dead: until the wrapper has noticed, the API server does not answer there. */
function untilNoticed(active: ActiveTcpFault, bound: number): ActiveFault {
  const struckAt = performance.now();
  let problems: readonly Problem[] = [];
  return {
    hits: active.hits,
    end: async () => {
      const left = bound - (performance.now() - struckAt);
      const open = await active.stillOpen(Math.max(0, left));
      problems = open.map((connection) => ({
        check: 'deadPeer',
        what: `a dead connection is still open after ${bound} ms: ${connection}`,
      }));
      await active.end();
    },
    problems: () => problems,
  };
}
