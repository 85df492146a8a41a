import { setTimeout as sleep } from 'node:timers/promises';
import { COLLECTIONS, type CollectionName } from '../../../../fake-apiserver/collections.ts';
import { encodeBookmark } from '../../../../fake-apiserver/wire.ts';
import type { Exchange, HttpFault } from '../fault-front.ts';
import type { FaultKind, FaultTarget } from '../fault-kind.ts';
import { encodingOf, readFrames, type WatchFrame } from '../watch-frames.ts';
import { endWatches, errorEvent, expireWatches, happened, http } from './acts.ts';

/** Gives the events of a watch in another form; `undefined` ends it. */
type Frames = (
  frames: AsyncGenerator<WatchFrame, void, undefined>,
  exchange: Exchange,
) => AsyncIterable<Buffer>;

function watched(change: Frames): Pick<HttpFault, 'transform'> {
  return {
    transform: (answer, exchange) =>
      answer.statusCode === 200
        ? change(
            readFrames(answer as AsyncIterable<Buffer>, encodingOf(exchange.seen.accept)),
            exchange,
          )
        : undefined,
  };
}

/** Watches are asked for again, and then get this. */
function rewatched(name: string, change: Frames, more: Partial<FaultKind> = {}): FaultKind {
  return {
    room: 'watch',
    name,
    ...more,
    strike: (target) => http(target, 'watches', watched(change)),
  };
}

/** The first event is an ERROR. */
function beginsWithError(code: number): FaultKind {
  return rewatched(`ERROR ${code} as the first event`, async function* (_, exchange) {
    yield errorEvent(exchange, code);
  });
}

function errorAfterBookmark(code: number): FaultKind {
  return rewatched(`ERROR ${code} after a bookmark`, async function* (_, exchange) {
    yield bookmark(exchange, versionOf(exchange));
    yield errorEvent(exchange, code);
  });
}

/** The version that a watch was asked to begin at. */
function versionOf({ request }: Exchange): string {
  return new URL(request.url, 'http://front').searchParams.get('resourceVersion') ?? '0';
}

function bookmark({ seen }: Exchange, version: string): Buffer {
  const collection = COLLECTIONS.get(seen.collection as CollectionName);
  if (collection === undefined) return Buffer.alloc(0);
  const encoding = encodingOf(seen.accept);
  const metadataOnly = seen.accept.includes('as=PartialObjectMetadata');
  return encodeBookmark(collection, version, false, { encoding, metadataOnly });
}

/** Once, to the open watches. */
function once(name: string, strike: (target: FaultTarget) => number): FaultKind {
  return {
    room: 'watch',
    name,
    seconds: [0.1, 3],
    strike: (target) => happened(strike(target)),
  };
}

/** A bookmark with a version that no API server has reached; what resumes there gets nothing. */
function tooLarge(name: string, ahead: bigint): FaultKind {
  return {
    room: 'watch',
    name,
    strike: ({ front }) => {
      let hits = 0;
      for (const exchange of front.open) {
        if (!exchange.isWatching) continue;
        hits += 1;
        exchange.response.write(bookmark(exchange, String(BigInt(versionOf(exchange)) + ahead)));
      }
      // Each has read it when the connection is cut.
      setTimeout(() => front.cut(), 50);
      return happened(hits);
    },
  };
}

/** What is in the body of a watch, and what is missing there. */
export const watchFaults: readonly FaultKind[] = [
  ...[410, 500, 504, 429].map(beginsWithError),
  ...[410, 500, 504].map(errorAfterBookmark),
  once('all watches expire at once', ({ front }) => expireWatches(front)),
  once('all watches end with ERROR 500 at once', ({ front }) =>
    expireWatches(front, undefined, 500),
  ),
  once('the watch of slices expires', ({ front }) =>
    expireWatches(front, ({ collection }) => collection === 'endpointslices'),
  ),
  once('all watches end at once', ({ front }) => {
    const hits = front.open.size;
    endWatches(front, () => true);
    return hits;
  }),
  rewatched('watches end without an event', async function* () {}),
  rewatched('watches end after one event', async function* (frames) {
    for await (const frame of frames) {
      yield frame.bytes;
      if (frame.type !== 'BOOKMARK') return;
    }
  }),
  rewatched('watches end after one bookmark', async function* (_, exchange) {
    yield bookmark(exchange, versionOf(exchange));
  }),
  rewatched('no bookmarks', async function* (frames) {
    for await (const { type, bytes } of frames) if (type !== 'BOOKMARK') yield bytes;
  }),
  tooLarge('a bookmark with a version 1,000 ahead', 1_000n),
  tooLarge('a bookmark with a version far ahead', 1_000_000_000n),
  rewatched('a watch ends in the middle of an event', async function* (frames) {
    for await (const { bytes } of frames) {
      yield bytes.subarray(0, Math.ceil(bytes.length / 2));
      return;
    }
  }),
  rewatched('an event with a length that is too large', async function* (frames) {
    for await (const { bytes } of frames) {
      const copy = Buffer.from(bytes);
      copy[0] = 0x7f;
      yield copy;
    }
  }),
  rewatched('an event of an unknown type', async function* (frames) {
    for await (const { type, bytes } of frames) {
      yield type.length === 8
        ? Buffer.from(bytes.toString('latin1').replace(type, 'STRANGER'), 'latin1')
        : bytes;
    }
  }),
  {
    room: 'watch',
    name: 'events come 3 s late',
    strike: (target) => {
      const ended = new AbortController();
      const late = watched(async function* (frames) {
        for await (const { bytes } of frames) {
          await sleep(3_000, undefined, { signal: ended.signal }).catch(() => {});
          yield bytes;
        }
      });
      const active = http(target, 'watches', late);
      return {
        hits: active.hits,
        end: async () => {
          ended.abort();
          await active.end();
        },
      };
    },
  },
  rewatched('each event twice', async function* (frames) {
    for await (const { type, bytes } of frames) {
      yield bytes;
      if (type === 'MODIFIED' || type === 'BOOKMARK') yield bytes;
    }
  }),
];
