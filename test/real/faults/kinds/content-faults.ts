import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { encodeStatus } from '../../../../fake-apiserver/wire.ts';
import { MAX_LIST_BYTES } from '../bounds.ts';
import type { Exchange, HttpFault } from '../fault-front.ts';
import type { FaultKind } from '../fault-kind.ts';
import { encodingOf } from '../watch-frames.ts';
import { answer, expireWatches, http, type Scope, statusOf } from './acts.ts';

const PORTAL = '<!doctype html><html><title>Welcome</title><body>Please log in</body></html>';

function typeOf({ seen }: Exchange): string {
  const type =
    encodingOf(seen.accept) === 'json' ? 'application/json' : 'application/vnd.kubernetes.protobuf';
  return seen.verb === 'watch' && type.endsWith('protobuf') ? `${type};stream=watch` : type;
}

/** Answers 200 with these bytes, as the type that was asked for. */
function says(name: string, scope: Scope, bytes: (exchange: Exchange) => Buffer): FaultKind {
  return {
    room: 'content',
    name,
    strike: (target) =>
      answer(target, scope, (exchange) => {
        exchange.response.writeHead(200, { 'content-type': typeOf(exchange) });
        exchange.response.end(bytes(exchange));
      }),
  };
}

/** The real answer with other headers, or another body. */
function alters(name: string, scope: Scope, fault: Omit<HttpFault, 'takes' | 'answer'>): FaultKind {
  return {
    room: 'content',
    name,
    strike: (target) => http(target, scope, fault),
  };
}

/** Lists whose bodies end only with the fault, by a reset. */
function neverEnds(name: string, write: (response: Exchange['response']) => void): FaultKind {
  return {
    room: 'content',
    name,
    strike: (target) => {
      const begun = new Set<Exchange>();
      const active = answer(target, 'lists', (exchange) => {
        begun.add(exchange);
        exchange.response.writeHead(200, { 'content-type': typeOf(exchange) });
        write(exchange.response);
      });
      return {
        hits: active.hits,
        end: async () => {
          await active.end();
          for (const exchange of begun) exchange.abort();
        },
      };
    },
  };
}

/** Needs as much memory as lists may have: what is read, and the garbage of two attempts before. */
export const listWithoutEnd: FaultKind = {
  ...neverEnds('a list without an end', (response) => {
    const block = Buffer.alloc(65_536, 1);
    const write = () => {
      while (!response.destroyed && response.write(block));
    };
    response.on('drain', write);
    write();
  }),
  memoryMB: (3 * MAX_LIST_BYTES) / 2 ** 20,
};

/** The whole body, altered. Only for lists, which end. */
function rewrites(change: (body: Buffer) => Buffer): Pick<HttpFault, 'transform'> {
  return {
    transform: async function* (answer) {
      yield change(await buffer(answer));
    },
  };
}

const unzipped = (headers: Record<string, string>) => {
  delete headers['content-encoding'];
};

/**
 * Bodies that are not what they should be. A list that leaves out an object, with all else right, is not here: nobody
 * can tell it from a list of a cluster without the object. An older list is: it is below the version that was asked
 * for.
 */
export const contentFaults: readonly FaultKind[] = [
  alters('text/plain as the type of everything', 'all', {
    headers: (headers) => {
      headers['content-type'] = 'text/plain';
    },
  }),
  alters('the other encoding as the type of lists', 'lists', {
    headers: (headers) => {
      headers['content-type'] = 'application/json';
    },
  }),
  says('HTML as the type that was asked for', 'all', () => Buffer.from(PORTAL)),
  says('empty bodies', 'all', () => Buffer.alloc(0)),
  says('empty lists: no body', 'lists', () => Buffer.alloc(0)),
  says('random bytes', 'all', () =>
    Buffer.from(Array.from({ length: 500 }, (_, i) => (i * 73) % 251)),
  ),
  says('a Status with 200 in place of lists', 'lists', ({ seen }) =>
    encodeStatus(statusOf(500, 'InternalError'), encodingOf(seen.accept)),
  ),
  alters(
    'lists truncated',
    'lists',
    rewrites((body) => body.subarray(0, body.length / 2)),
  ),
  alters(
    'lists with a byte too much',
    'lists',
    rewrites((body) => Buffer.concat([body, Buffer.from([7])])),
  ),
  alters('lists with damaged lengths', 'lists', rewrites(damaged)),
  alters('gzip that is not', 'lists', {
    headers: (headers) => {
      headers['content-encoding'] = 'gzip';
    },
    ...rewrites((body) => body),
  }),
  alters('gzip truncated', 'lists', {
    headers: (headers) => {
      headers['content-encoding'] = 'gzip';
    },
    ...rewrites((body) => {
      const zipped = gzipSync(body);
      return zipped.subarray(0, zipped.length / 2);
    }),
  }),
  alters('lists end early: Content-Length is larger than the body', 'lists', {
    headers: unzipped,
    transform: async function* (answer, exchange) {
      const body = await buffer(answer);
      yield body.subarray(0, body.length - 1);
      setImmediate(() => exchange.abort());
      await new Promise(() => {});
    },
  }),
  listWithoutEnd,
  neverEnds('a list byte by byte', (response) => {
    const timer = setInterval(() => response.write(Buffer.from([0x6b])), 100);
    response.once('close', () => clearInterval(timer));
  }),
  {
    room: 'content',
    name: 'lists older than was asked for',
    seconds: [1, 120],
    strike: (target) => {
      const copies = new Map<string, Buffer>();
      const { front } = target;
      const recorder = front.beginHttp({
        takes: ({ verb, version }) => verb === 'list' && version !== '',
        transform: async function* (real, { seen }) {
          const body = await buffer(real);
          if (!copies.has(seen.query)) copies.set(seen.query, body);
          yield copies.get(seen.query) ?? body;
        },
        headers: unzipped,
      });
      const fault = http(target, 'lists', {});
      // The first list is real; the next ones, after more changes, are the same once more. Where the newest state is
      // asked for, an older one would be right after a restore of etcd, so it is not touched.
      const timer = setInterval(() => expireWatches(front), 1_500);
      return {
        hits: () => Math.max(0, recorder.hits() - copies.size),
        end: async () => {
          clearInterval(timer);
          recorder.end();
          await fault.end();
        },
      };
    },
  },
];

/** In the first bytes, where lengths are. */
function damaged(body: Buffer): Buffer {
  const copy = Buffer.from(body);
  for (const at of [5, 30, 60]) if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ 0x3f;
  return copy;
}
