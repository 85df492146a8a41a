import { constants } from 'node:http2';
import type { ActiveFault } from '../active-fault.ts';
import type { Exchange, FaultFront } from '../fault-front.ts';
import type { FaultKind } from '../fault-kind.ts';
import { answer, happened, http } from './acts.ts';

const {
  NGHTTP2_CANCEL,
  NGHTTP2_ENHANCE_YOUR_CALM,
  NGHTTP2_INTERNAL_ERROR,
  NGHTTP2_NO_ERROR,
  NGHTTP2_PROTOCOL_ERROR,
  NGHTTP2_REFUSED_STREAM,
} = constants;

/** Something that happens once, to what is open; `end` undoes nothing. */
function once(name: string, strike: (front: FaultFront) => number): FaultKind {
  return {
    room: 'HTTP/2',
    name,
    needs: 'http2',
    seconds: [0.1, 3],
    strike: ({ front }) => happened(strike(front)),
  };
}

/** Ends connections with a GOAWAY; `endMs` later the connection ends, if that is given. */
function goesAway(
  name: string,
  { code = NGHTTP2_NO_ERROR, endMs, lastStream }: GoAway = {},
): FaultKind {
  return once(name, ({ sessions }) => {
    const open = [...sessions].filter(({ destroyed }) => !destroyed);
    for (const session of open) {
      session.goaway(code, lastStream);
      if (endMs !== undefined) setTimeout(() => session.destroy(), endMs);
    }
    return open.length;
  });
}

interface GoAway {
  readonly code?: number;
  readonly endMs?: number;
  readonly lastStream?: number;
}

function resetStreams(front: FaultFront, code: number, most = Number.POSITIVE_INFINITY): number {
  const open = [...front.open].filter(isHttp2).slice(0, most);
  for (const exchange of open) exchange.abort(code);
  return open.length;
}

function isHttp2({ seen }: Exchange): boolean {
  return seen.protocol === 'h2';
}

/** New streams end with this code. */
function refuses(name: string, code: number, share: number): FaultKind {
  return {
    room: 'HTTP/2',
    name,
    needs: 'http2',
    strike: (target) => {
      const { front, random } = target;
      const active = front.beginHttp({
        takes: ({ protocol }) => protocol === 'h2' && random.chance(share),
        answer: (exchange) => exchange.abort(code),
      });
      resetStreams(front, NGHTTP2_CANCEL);
      return { hits: active.hits, end: async () => active.end() };
    },
  };
}

function limited(name: string, streams: number): FaultKind {
  return {
    room: 'HTTP/2',
    name,
    needs: 'http2',
    strike: (target): ActiveFault => {
      target.front.limitStreams(streams);
      const active = http(target, 'all', {});
      return {
        hits: active.hits,
        end: async () => {
          await active.end();
          target.front.limitStreams(undefined);
          target.front.cut();
        },
      };
    },
  };
}

/** What only HTTP/2 can do. */
export const http2Faults: readonly FaultKind[] = [
  goesAway('GOAWAY, streams go on'),
  goesAway('GOAWAY, then the end', { endMs: 50 }),
  goesAway('GOAWAY that takes no stream', { lastStream: 0, endMs: 1_000 }),
  goesAway('GOAWAY with ENHANCE_YOUR_CALM', { code: NGHTTP2_ENHANCE_YOUR_CALM, endMs: 50 }),
  goesAway('GOAWAY with PROTOCOL_ERROR', { code: NGHTTP2_PROTOCOL_ERROR, endMs: 50 }),
  once('one stream reset', (front) => resetStreams(front, NGHTTP2_INTERNAL_ERROR, 1)),
  once('all streams reset', (front) => resetStreams(front, NGHTTP2_INTERNAL_ERROR)),
  once('all streams cancelled', (front) => resetStreams(front, NGHTTP2_CANCEL)),
  refuses('new streams refused', NGHTTP2_REFUSED_STREAM, 1),
  refuses('half of the new streams refused', NGHTTP2_REFUSED_STREAM, 0.5),
  refuses('new streams end with ENHANCE_YOUR_CALM', NGHTTP2_ENHANCE_YOUR_CALM, 1),
  refuses('new streams end with INTERNAL_ERROR', NGHTTP2_INTERNAL_ERROR, 1),
  limited('one stream at a time', 1),
  limited('three streams at a time', 3),
  {
    room: 'HTTP/2',
    name: 'GOAWAY after each request',
    needs: 'http2',
    strike: (target) =>
      answer(target, 'all', ({ response }) => {
        const session = response.stream?.session;
        session?.goaway(NGHTTP2_NO_ERROR);
        setTimeout(() => session?.destroy(), 20);
      }),
  },
];
