import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHistory, type History } from '../../../../harness/history/history.ts';
import { NARROW_SHAPE } from '../../../../harness/history/history-shape.ts';
import { freePorts } from '../../../../harness/network/free-port.ts';
import { createRandom } from '../../../../harness/random.ts';
import { VIEW_BOUNDS } from '../../../../src/config/view-bounds.ts';
import { issue, type KeyPair } from '../../../support/http/certificates.ts';
import { type FollowOptions, follow } from '../../../support/recorder/follow.ts';
import type { Problem } from '../bounds.ts';
import { FaultFront } from '../fault-front.ts';
import { SELF, WrapperUnderTest } from '../wrapper-under-test.ts';
import { KeptClient } from './kept-client.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { type RelaysUnderTest, startRelays } from './relays.ts';
import { differences } from './view-difference.ts';
import { ViewJudge } from './view-judge.ts';

/** One history, the only way to it, a wrapper and the clients that are kept over all faults. */
export interface HistoryScene {
  readonly history: History;
  readonly memory: MemoryBackend;
  readonly front: FaultFront;
  readonly relays: RelaysUnderTest['all'];
  readonly wrapper: WrapperUnderTest;
  readonly clients: { readonly slices: KeptClient; readonly services: KeptClient };
  readonly judge: ViewJudge;
  /** Gets what the judges find. */
  report: (problem: Problem) => void;
  stop(): Promise<void>;
}

export interface HistorySceneOptions {
  readonly backend: MemoryBackend;
  readonly authority: KeyPair;
  readonly http2: boolean;
  readonly seed: number;
  /** How many. */
  readonly relays: number;
}

/**
 * The wrapper is back at a relay after this time, in milliseconds, not after a minute. Long enough for a query that each
 * relay in turn refuses: a list of the newest state, which only the API server has.
 */
const RETURN_MS = 15_000;
/** Values of each input that a process may find on its disk. */
const KEPT_VALUES = 12;

export async function startHistoryScene(options: HistorySceneOptions): Promise<HistoryScene> {
  const { backend, authority } = options;
  const folder = await mkdtemp(join(tmpdir(), 'kpw-recovery-'));
  const cleanups: (() => Promise<void> | void)[] = [
    async () => await rm(folder, { recursive: true, force: true }),
  ];
  const stop = async (): Promise<void> => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const [port = 0, innerPort = 0, listenPort = 0, adminPort = 0] = await freePorts(4);
    const history = await createHistory({
      api: () => backend.client,
      random: createRandom(options.seed),
      self: SELF,
      shape: NARROW_SHAPE,
    });
    const front = new FaultFront({
      port,
      innerPort,
      backend,
      certificate: await issue(authority, 'api-server'),
      protocols: options.http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
    });
    await front.start();
    cleanups.push(async () => await front.stop());
    const caFile = join(folder, 'ca.crt');
    writeFileSync(caFile, authority.cert);
    const relays = await startRelays(options.relays, front, { folder, caFile });
    cleanups.push(async () => await relays.stop());
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
    cleanups.push(async () => await wrapper.stop('SIGKILL'));
    const scene = describeScene({
      history,
      memory: backend,
      front,
      relays: relays.all,
      wrapper,
      stop,
    });
    const stopped = new AbortController();
    cleanups.push(() => stopped.abort());
    wrapper.start();
    const { slices, services } = scene.clients;
    const watching = { watchSeconds: 300, pauseMs: 100 };
    const queries: readonly [FollowOptions, KeptClient][] = [
      [{ ...watching, url: wrapper.url + SLICES, mode: 'stream' }, slices],
      [{ ...watching, url: wrapper.url + SERVICES, mode: 'list' }, services],
    ];
    for (const [query, client] of queries) void follow(query, client, stopped.signal);
    const deadline = performance.now() + 60_000;
    while (differences(scene) !== '') {
      if (performance.now() > deadline) {
        throw new Error(`never right at the start: ${differences(scene)}\n${wrapper.log()}`);
      }
      await sleep(50);
    }
    settle(scene);
    return scene;
  } catch (error) {
    await stop();
    throw error;
  }
}

const SLICES =
  '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=!service.kubernetes.io/headless';
const SERVICES =
  '/api/v1/services?fieldSelector=spec.clusterIP!%3DNone&labelSelector=!service.kubernetes.io/service-proxy-name';

function describeScene(
  parts: Pick<HistoryScene, 'history' | 'memory' | 'front' | 'relays' | 'wrapper' | 'stop'>,
): HistoryScene {
  const { timeline } = parts.history;
  const judge = new ViewJudge(timeline, (what) => scene.report({ check: 'view', what }));
  const broken = (what: string) => scene.report({ check: 'watch', what });
  const slices: KeptClient = new KeptClient({
    broken,
    changed: (name, object) => judge.slice(name, object),
    applied: () => judge.judge(slices.objects),
  });
  const services = new KeptClient({
    broken,
    changed: (name, object) => judge.service(name, object),
    applied: () => {},
  });
  const scene: HistoryScene = {
    ...parts,
    clients: { slices, services },
    judge,
    report: () => {},
  };
  return scene;
}

/** The clients are right: only what comes from now on is allowed. */
export function settle({ judge, clients }: HistoryScene): void {
  judge.restart(clients.slices.objects, KEPT_VALUES);
}
