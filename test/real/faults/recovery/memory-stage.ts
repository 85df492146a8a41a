import { readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issue, type KeyPair } from '../../../../harness/certificates.ts';
import { createHistory } from '../../../../harness/history/history.ts';
import { NARROW_SHAPE } from '../../../../harness/history/history-shape.ts';
import { freePorts } from '../../../../harness/network/free-port.ts';
import { poll } from '../../../../harness/poll.ts';
import { createRandom } from '../../../../harness/random.ts';
import { withCleanups } from '../../../../harness/with-cleanups.ts';
import { VIEW_BOUNDS } from '../../../../src/config/view-bounds.ts';
import { FaultFront } from '../fault-front.ts';
import type { HistoryTarget } from '../fault-kind.ts';
import { type FaultStage, untilRight } from '../fault-run.ts';
import { SELF, WrapperUnderTest } from '../wrapper-under-test.ts';
import { judgeFault, type StageParts } from './fault-judge.ts';
import { startKeptClients } from './kept-clients.ts';
import { startMemoryBackend } from './memory-backend.ts';
import { type RelayUnderTest, startRelays, untilRelayInUse } from './relays.ts';

export interface MemoryStageOptions {
  readonly authority: KeyPair;
  readonly http2: boolean;
  readonly seed: number;
  /** Between the wrapper and its API server. */
  readonly relays: number;
}

/**
 * The wrapper is back at a relay after this time, in milliseconds, not after a minute. Long enough for a query that
 * each relay in turn refuses: a list of the newest state, which only the API server has.
 */
const RETURN_MS = 15_000;

/** An API server in memory, the only way to it, a wrapper, and clients that are kept over all faults. */
export async function startMemoryStage(
  options: MemoryStageOptions,
): Promise<FaultStage<HistoryTarget>> {
  return await withCleanups((started) => startParts(options, started));
}

async function startParts(
  options: MemoryStageOptions,
  started: AsyncDisposableStack,
): Promise<Omit<FaultStage<HistoryTarget>, 'stop'>> {
  const { authority, http2 } = options;
  const folder = await mkdtemp(join(tmpdir(), 'kpw-recovery-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const memory = await startMemoryBackend();
  started.defer(() => memory.stop());
  const [port = 0, innerPort = 0, listenPort = 0, adminPort = 0] = await freePorts(4);
  const random = createRandom(options.seed);
  const api = () => memory.client;
  const history = await createHistory({ api, random, self: SELF, shape: NARROW_SHAPE });
  const front = new FaultFront({
    port,
    innerPort,
    backend: memory,
    certificate: await issue(authority, 'api-server'),
    protocols: http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
  });
  await front.start();
  started.defer(() => front.stop());
  const caFile = join(folder, 'ca.crt');
  writeFileSync(caFile, authority.cert);
  const relays = await startRelays(options.relays, front, { folder, caFile, api });
  started.defer(() => relays.stop());
  const wrapper = new WrapperUnderTest({
    folder,
    listenPort,
    adminPort,
    server: front.url,
    ca: authority.cert,
    token: 'memory',
    settings: relays.settings,
    viewBounds: { ...VIEW_BOUNDS, returnMs: RETURN_MS },
  });
  started.defer(() => wrapper.stop('SIGKILL'));
  wrapper.start();
  const clients = startKeptClients(wrapper.url, history.timeline);
  started.defer(() => clients.stop());
  if ((await untilRight(clients, 60_000)) === undefined) {
    throw new Error(`never right at the start: ${clients.differences()}\n${wrapper.log()}`);
  }
  if (options.relays > 0) await restartBehindRelays(wrapper, relays.all, clients);
  // Kinds that only HTTP/2 has would hit nothing.
  if (http2 && front.protocol !== 'h2') throw new Error('the wrapper does not speak HTTP/2');
  clients.settle();
  const parts: StageParts = { history, front, relays: relays.all, wrapper, clients };
  return {
    target: (random) => ({ ...parts, memory, random }),
    changeAll: (random) => history.changeAll(random),
    differences: clients.differences,
    judge: (fault) => judgeFault(parts, fault),
  };
}

/** Once it has found the relays and has them on disk, the next process reads from them at once. */
async function restartBehindRelays(
  wrapper: WrapperUnderTest,
  relays: readonly RelayUnderTest[],
  clients: ReturnType<typeof startKeptClients>,
): Promise<void> {
  const files = () => readdirSync(wrapper.stateDir);
  const hasRelays = (names: string[]) => names.some((name) => /^relays-.*snapshot$/.test(name));
  await poll(files, hasRelays, { timeoutMs: 60_000, what: 'the addresses of relays on disk' });
  await wrapper.stop('SIGTERM');
  wrapper.start();
  await untilRelayInUse(wrapper, relays);
  // Kept clients may be right before the new process has read anything: its start is no part of the first fault.
  const isStarted = (await wrapper.isReady(60_000)) && (await wrapper.hasListed(60_000));
  if (!isStarted || (await untilRight(clients, 60_000)) === undefined) {
    throw new Error(`never right behind relays: ${clients.differences()}\n${wrapper.log()}`);
  }
}
