import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const QUESTIONS = [
  '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=!service.kubernetes.io/headless',
  '/apis/discovery.k8s.io/v1/endpointslices',
  '/api/v1/services',
  '/api/v1/endpoints',
];
const ACCEPT = ['application/vnd.kubernetes.protobuf', 'application/json'];
const STREAMING = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';

/** How the clients of a soak behave. */
const KINDS = [
  /** Follow for good, as kube-proxy does. */
  ...Array<ClientKind>(4).fill({ lastsMs: 600_000, slowMs: 0, query: STREAMING }),
  /** Come and go. */
  ...Array<ClientKind>(12).fill({ lastsMs: 700, slowMs: 0, query: STREAMING }),
  ...Array<ClientKind>(4).fill({ lastsMs: 200, slowMs: 0, query: '' }),
  /** Take a little now and then, and fall out of the window. */
  ...Array<ClientKind>(3).fill({ lastsMs: 20_000, slowMs: 2_000, query: STREAMING }),
  /** Take nothing at all. */
  ...Array<ClientKind>(2).fill({ lastsMs: 30_000, slowMs: 600_000, query: STREAMING }),
];

interface ClientKind {
  /** Milliseconds until it goes and comes anew. */
  readonly lastsMs: number;
  /** Milliseconds of rest after each chunk. */
  readonly slowMs: number;
  readonly query: string;
}

/** Clients that come and go until the signal; resolves when all have gone, with how many answers they had. */
export async function runClients(server: string, signal: AbortSignal): Promise<number> {
  const runs = KINDS.map(async (kind, index) => {
    const question = QUESTIONS[index % QUESTIONS.length] ?? '';
    const url = new URL(question, server);
    const more = new URLSearchParams(kind.query);
    for (const [name, value] of more) url.searchParams.set(name, value);
    const accept = ACCEPT[index % ACCEPT.length] ?? '';
    let answers = 0;
    while (!signal.aborted) {
      if (await comeAndGo(url, accept, kind, signal)) answers += 1;
    }
    return answers;
  });
  return (await Promise.all(runs)).reduce((sum, answers) => sum + answers, 0);
}

async function comeAndGo(
  url: URL,
  accept: string,
  kind: ClientKind,
  signal: AbortSignal,
): Promise<boolean> {
  // Not AbortSignal.any with a timeout: a run was seen to wait for one of these for good.
  const going = new AbortController();
  const go = () => going.abort();
  const timer = setTimeout(go, kind.lastsMs);
  signal.addEventListener('abort', go);
  if (signal.aborted) go();
  const gone = going.signal;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const request = get(url, { agent: false, headers: { accept }, signal: gone }, (response) => {
    void take(response, kind.slowMs, gone).then(() => resolve(response.statusCode === 200));
  });
  request.once('error', () => resolve(false));
  request.once('close', () => resolve(false));
  const answered = await promise;
  request.destroy();
  clearTimeout(timer);
  signal.removeEventListener('abort', go);
  // Not to ask without a pause when nobody listens.
  await sleep(20);
  return answered;
}

async function take(response: IncomingMessage, slowMs: number, signal: AbortSignal): Promise<void> {
  try {
    for await (const _chunk of response) {
      if (slowMs > 0) await sleep(slowMs, undefined, { signal });
    }
  } catch {
    // It went, as it was to.
  }
}
