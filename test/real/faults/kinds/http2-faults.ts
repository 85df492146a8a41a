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
function once(
  name: string,
  strike: (front: FaultFront) => number,
  seconds: readonly [number, number] = [0.1, 3],
): FaultKind {
  return {
    room: 'HTTP/2',
    name,
    needs: 'http2',
    seconds,
    strike: ({ front }) => happened(strike(front)),
  };
}

function eachSession(
  front: FaultFront,
  act: (session: FaultFront['sessions'] extends ReadonlySet<infer S> ? S : never) => void,
): number {
  const sessions = [...front.sessions].filter(({ destroyed }) => !destroyed);
  for (const session of sessions) act(session);
  return sessions.length;
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
  once('GOAWAY, streams go on', (front) =>
    eachSession(front, (session) => session.goaway(NGHTTP2_NO_ERROR)),
  ),
  once('GOAWAY, then the end', (front) =>
    eachSession(front, (session) => {
      session.goaway(NGHTTP2_NO_ERROR);
      setTimeout(() => session.destroy(), 50);
    }),
  ),
  once('GOAWAY that takes no stream', (front) =>
    eachSession(front, (session) => {
      session.goaway(NGHTTP2_NO_ERROR, 0);
      setTimeout(() => session.destroy(), 1_000);
    }),
  ),
  once('GOAWAY with ENHANCE_YOUR_CALM', (front) =>
    eachSession(front, (session) => {
      session.goaway(NGHTTP2_ENHANCE_YOUR_CALM);
      setTimeout(() => session.destroy(), 50);
    }),
  ),
  once('GOAWAY with PROTOCOL_ERROR', (front) =>
    eachSession(front, (session) => {
      session.goaway(NGHTTP2_PROTOCOL_ERROR);
      setTimeout(() => session.destroy(), 50);
    }),
  ),
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
