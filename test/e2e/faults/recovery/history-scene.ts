import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { issue, type KeyPair } from '../../../support/http/certificates.ts';
import { freePorts } from '../../support/free-port.ts';
import { createRandom } from '../../support/random.ts';
import type { Problem } from '../bounds.ts';
import type { ClusterBackend } from '../cluster-backend.ts';
import { type FaultFront, startFaultFront } from '../fault-front.ts';
import { WrapperUnderTest } from '../wrapper-under-test.ts';
import { type Cluster, createCluster } from './cluster.ts';
import { KeptClient } from './kept-client.ts';
import { differences } from './view-difference.ts';
import { ViewJudge } from './view-judge.ts';

/** One history: a cluster, the only way to it, a wrapper and the clients that are kept over all faults. */
export interface HistoryScene {
  readonly cluster: Cluster;
  readonly front: FaultFront;
  readonly wrapper: WrapperUnderTest;
  readonly clients: { readonly slices: KeptClient; readonly services: KeptClient };
  readonly judges: { readonly view: ViewJudge };
  /** Gets what the judges find. */
  report: (problem: Problem) => void;
  /** The clients are right: only what comes from now on is allowed. */
  settled(): void;
  stop(): Promise<void>;
}

export interface HistorySceneOptions {
  readonly backend: ClusterBackend;
  readonly authority: KeyPair;
  readonly http2: boolean;
  readonly seed: number;
}

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
    const cluster = await createCluster(backend, createRandom(options.seed));
    const front = await startFaultFront({
      port,
      innerPort,
      backend,
      certificate: await issue(authority, 'api-server'),
      protocols: options.http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
    });
    cleanups.push(async () => await front.stop());
    const wrapper = new WrapperUnderTest({
      folder,
      listenPort,
      adminPort,
      server: front.url,
      ca: authority.cert,
      token: backend.token,
    });
    cleanups.push(async () => await wrapper.stop('SIGKILL'));
    const scene = describeScene(cluster, front, wrapper, stop);
    cleanups.push(() => {
      for (const client of Object.values(scene.clients)) client.stop();
    });
    wrapper.start();
    for (const client of Object.values(scene.clients)) void client.run();
    const deadline = performance.now() + 60_000;
    while (differences(scene) !== '') {
      if (performance.now() > deadline) {
        throw new Error(`never right at the start: ${differences(scene)}\n${wrapper.log()}`);
      }
      await sleep(50);
    }
    scene.settled();
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
  cluster: Cluster,
  front: FaultFront,
  wrapper: WrapperUnderTest,
  stop: () => Promise<void>,
): HistoryScene {
  const view = new ViewJudge(cluster.timeline, (what) => scene.report({ check: 'view', what }));
  const broken = (what: string) => scene.report({ check: 'watch', what });
  const slices: KeptClient = new KeptClient(
    wrapper.url + SLICES,
    { streaming: true },
    {
      broken,
      changed: (name, object) => view.slice(name, object),
      applied: () => view.judge(slices.objects),
    },
  );
  const services = new KeptClient(
    wrapper.url + SERVICES,
    { streaming: false },
    { broken, changed: (name, object) => view.service(name, object), applied: () => {} },
  );
  const scene: HistoryScene = {
    cluster,
    front,
    wrapper,
    clients: { slices, services },
    judges: { view },
    report: () => {},
    settled: () => view.restart(slices.objects, KEPT_VALUES),
    stop,
  };
  return scene;
}
