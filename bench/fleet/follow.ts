import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { STREAMING_LIST } from '../../harness/streaming-list.ts';
import {
  currentKubeProxyQueries,
  isForEndpoints,
} from '../../src/client/api/kube-proxy-queries.ts';
import { queryPath } from '../../src/client/api/query.ts';

/** What a kube-proxy sees that starts together with the wrapper of its node. Times are milliseconds since the epoch. */
export interface FollowedWrapper {
  /** When it had all objects for the first time, and whether the mark was among them. */
  readonly complete: Promise<{ readonly at: number; readonly hasMark: boolean }>;
  /** When it had the mark. */
  readonly newest: Promise<number>;
  /** Keeps its watches open until then. */
  stop(): Promise<void>;
}

/** The annotation of the bookmark that ends the initial events. */
const END = 'k8s.io/initial-events-end';
/** No mark, and not the end, is longer. */
const LONGEST = 64;
const RETRY_MS = 50;

type Seen = 'end' | 'mark';

/** Reads as a kube-proxy does; `mark` is the address of an endpoint that only the newest state has. */
export function followWrapper(url: string, node: string, mark: string): FollowedWrapper {
  const closing = new AbortController();
  const agent = new Agent({ bodyTimeout: 0, headersTimeout: 0 });
  const complete = Promise.withResolvers<Awaited<FollowedWrapper['complete']>>();
  const newest = Promise.withResolvers<number>();
  const queries = currentKubeProxyQueries(node);
  let hasMark = false;
  const incomplete = new Set(queries);
  const running = queries.map(async (query) => {
    const searched: [Seen, string][] = [['end', END]];
    if (isForEndpoints(query)) searched.push(['mark', mark]);
    const path = queryPath(query, new URLSearchParams({ watch: 'true', ...STREAMING_LIST }));
    await watchAgain(url + path, agent, closing.signal, searched, (seen) => {
      const at = performance.timeOrigin + performance.now();
      if (seen === 'end') incomplete.delete(query);
      else hasMark = true;
      if (incomplete.size === 0) complete.resolve({ at, hasMark });
      if (hasMark) newest.resolve(at);
    });
  });
  return {
    complete: complete.promise,
    newest: newest.promise,
    stop: async () => {
      closing.abort();
      await Promise.all(running);
      await agent.destroy();
    },
  };
}

async function watchAgain(
  url: string,
  dispatcher: Agent,
  signal: AbortSignal,
  searched: readonly [Seen, string][],
  onSeen: (seen: Seen) => void,
): Promise<void> {
  const headers = { accept: 'application/vnd.kubernetes.protobuf;stream=watch' };
  while (!signal.aborted) {
    try {
      const { statusCode, body } = await request(url, { dispatcher, headers, signal });
      if (statusCode === 200) await search(body, searched, onSeen);
      else await body.dump();
    } catch {
      // Its wrapper does not listen yet, or ends.
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
  }
}

/** Reports each text, each time that it comes. */
async function search(
  body: AsyncIterable<Buffer>,
  searched: readonly [Seen, string][],
  onSeen: (seen: Seen) => void,
): Promise<void> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    const bytes = Buffer.concat([rest, chunk]);
    const found = searched
      .map(([seen, text]) => ({ seen, at: bytes.lastIndexOf(text) }))
      .filter(({ at }) => at >= 0)
      .toSorted((a, b) => a.at - b.at);
    for (const { seen } of found) onSeen(seen);
    rest = bytes.subarray(-LONGEST);
  }
}
