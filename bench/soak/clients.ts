import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const PATHS = [
  '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=!service.kubernetes.io/headless',
  '/apis/discovery.k8s.io/v1/endpointslices',
  '/api/v1/services',
  '/api/v1/endpoints',
];
const ACCEPT = ['application/vnd.kubernetes.protobuf', 'application/json'];
const STREAMING = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';

/** How the clients of a soak behave. */
const KINDS = {
  /** Follow for good, as kube-proxy does. */
  followers: { count: 4, lastsMs: 600_000, slowMs: 0, query: STREAMING },
  /** Come and go. */
  visitors: { count: 12, lastsMs: 700, slowMs: 0, query: STREAMING },
  listers: { count: 4, lastsMs: 200, slowMs: 0, query: '' },
  /** Take a little now and then, and fall out of the window. */
  slow: { count: 3, lastsMs: 20_000, slowMs: 2_000, query: STREAMING },
  /** Take nothing but the beginning. */
  stalled: { count: 2, lastsMs: 30_000, slowMs: 600_000, query: STREAMING },
  /** Each time a collection of its own, so that the wrapper opens a watch each second. */
  reopeners: { count: 5, lastsMs: 5_000, slowMs: 0, query: STREAMING, isFresh: true },
} satisfies Record<string, ClientKind>;

export type ClientName = keyof typeof KINDS;

export const CLIENT_NAMES = Object.keys(KINDS) as ClientName[];

/** What is reported of clients. */
export interface ClientReports {
  /** Called with each part of a successful response that a client has read. */
  onPart?(client: ClientName): void;
  /** Called when a client goes that has read no part of a successful response. */
  onNothing?(client: ClientName): void;
}

interface ClientKind {
  /** How many of them there are. */
  readonly count: number;
  /** Milliseconds until it disconnects and starts again. */
  readonly lastsMs: number;
  /** Milliseconds of rest after each chunk. */
  readonly slowMs: number;
  readonly query: string;
  /** It asks for another collection each time. */
  readonly isFresh?: boolean;
}

/** Clients that come and go until the signal; resolves when all have gone. */
export async function runClients(
  server: string,
  kinds: readonly ClientName[],
  signal: AbortSignal,
  reports: ClientReports = {},
): Promise<void> {
  const names = kinds.flatMap((name) => Array<ClientName>(KINDS[name].count).fill(name));
  const runs = names.map(async (name, index) => {
    const kind: ClientKind = KINDS[name];
    const path = PATHS[index % PATHS.length] ?? '';
    const url = new URL(path, server);
    const more = new URLSearchParams(kind.query);
    for (const [name, value] of more) url.searchParams.set(name, value);
    const accept = ACCEPT[index % ACCEPT.length] ?? '';
    for (let visit = 0; !signal.aborted; visit++) {
      if (kind.isFresh) url.searchParams.set('labelSelector', `soak!=${index}-${visit}`);
      let parts = 0;
      const onPart = () => {
        parts++;
        reports.onPart?.(name);
      };
      await comeAndGo({ url, accept, kind, onPart }, signal);
      if (parts === 0 && !signal.aborted) reports.onNothing?.(name);
    }
  });
  await Promise.all(runs);
}

interface Client {
  readonly url: URL;
  readonly accept: string;
  readonly kind: ClientKind;
  readonly onPart: () => void;
}

async function comeAndGo(client: Client, signal: AbortSignal): Promise<void> {
  const { url, accept, kind } = client;
  // Not AbortSignal.any with a timeout: a run was seen to wait for one of these for good.
  const going = new AbortController();
  const go = () => going.abort();
  const timer = setTimeout(go, kind.lastsMs);
  signal.addEventListener('abort', go);
  if (signal.aborted) go();
  const gone = going.signal;
  const { promise, resolve } = Promise.withResolvers<void>();
  const request = get(url, { agent: false, headers: { accept }, signal: gone }, (response) => {
    void take(response, client, gone).then(resolve);
  });
  request.once('error', () => resolve());
  request.once('close', () => resolve());
  await promise;
  // Who still rests between two chunks of an answer that was cut does not rest any longer.
  go();
  request.destroy();
  clearTimeout(timer);
  signal.removeEventListener('abort', go);
  // Avoids requests without a pause while nothing listens.
  await sleep(20);
}

async function take(
  response: IncomingMessage,
  { kind: { slowMs }, onPart }: Client,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const _chunk of response) {
      if (response.statusCode === 200) onPart();
      if (slowMs > 0) await sleep(slowMs, undefined, { signal });
    }
  } catch {
    // It went, as it was to.
  }
}
