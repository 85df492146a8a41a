import { pino } from 'pino';
import type { ApiServer } from '../../embedded/api-server.ts';
import type { KubeObject } from '../../embedded/kube-object.ts';
import { startAdmin } from '../../src/admin/admin.ts';
import { DEFAULT_LISTENER_LIMITS } from '../../src/proxy/http/listener-limits.ts';
import { recordWatch, STREAMING_LIST } from '../support/guarantees/watch-recorder.ts';
import {
  createSmallCluster,
  putNode,
  putService,
  putSlice,
  type SmallEndpoint,
} from '../support/wrapper/small-cluster.ts';
import { startWrapper } from '../support/wrapper/wrapper-fixture.ts';

/** The real wrapper of edge-1 with its admin port, a cluster in memory, and a client that watches slices. */
export interface Scene {
  readonly server: ApiServer;
  /** URL of the admin port. */
  readonly url: string;
  /** Closes only the admin port. */
  stopAdmin(): Promise<void>;
  close(): Promise<void>;
}

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';

const WEB: readonly SmallEndpoint[] = [
  { ip: '10.0.1.1', node: 'edge-1', ready: false },
  { ip: '10.0.2.1', node: 'edge-2' },
  { ip: '10.0.3.1', node: 'edge-3' },
];

/** Four Services: one filtered, one unfiltered, one with an invalid policy, one without kept endpoints. */
export async function openScene(): Promise<Scene> {
  const server = createSmallCluster();
  putService(server, 'web', ['kubernetes.io/hostname', 'site', '*']);
  putSlice(server, 'web-1', 'web', WEB);
  putService(server, 'plain', null);
  putSlice(server, 'plain-1', 'plain', [{ ip: '10.0.3.2', node: 'edge-3' }]);
  putService(server, 'broken', ['not a key']);
  putSlice(server, 'broken-1', 'broken', [{ ip: '10.0.3.3', node: 'edge-3' }]);
  putService(server, 'lost', ['site']);
  putSlice(server, 'lost-1', 'lost', [{ ip: '10.0.3.4', node: 'edge-3' }]);
  return await serve(server);
}

/** Adds this number of Services with four endpoints each, one of them in this site. */
export async function openLargeScene(services: number): Promise<Scene> {
  const server = createSmallCluster();
  putNode(server, 'cloud-1', {});
  for (let each = 0; each < services; each++) {
    const name = `service-${String(each).padStart(5, '0')}`;
    putService(server, name, ['kubernetes.io/hostname', 'site', '*']);
    const nodes = ['edge-2', 'edge-3', 'cloud-1', 'cloud-1'];
    const ip = `10.${1 + (each >> 8)}.${each & 255}`;
    putSlice(
      server,
      `${name}-1`,
      name,
      nodes.map((node, index) => ({ ip: `${ip}.${index + 1}`, node })),
    );
  }
  return await serve(server);
}

/** An annotation can contain anything, and the page must show it as text. */
export function nameWithMarkup(server: ApiServer): KubeObject {
  return server.annotate('web', 'topologyKeys', '["<img src=x onerror=alert(1)>"]');
}

async function serve(server: ApiServer): Promise<Scene> {
  const proxy = await startWrapper(await server.listen(), { readyWaitMs: 60_000 });
  const logger = pino({ level: 'warn' });
  const address = { host: '127.0.0.1', port: 0 };
  const admin = await startAdmin({ address, bounds: DEFAULT_LISTENER_LIMITS, proxy, logger });
  const watch = await recordWatch(`${proxy.url}${SLICES}`, STREAMING_LIST);
  return {
    server,
    url: admin.url,
    stopAdmin: () => admin.close(),
    async close() {
      await admin.close().catch(() => {});
      await watch.close();
      await proxy.close();
      await server.close();
    },
  };
}
