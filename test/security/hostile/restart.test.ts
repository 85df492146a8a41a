import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createService, deleteService } from '../../e2e/support/cluster-objects.ts';
import { freePorts } from '../../e2e/support/free-port.ts';
import { type HostWrapper, startHostWrapper } from './support/host-wrapper.ts';
import { send } from './support/http.ts';
import { startLikeKubeProxy } from './support/kube-proxy-queries.ts';
import { HERE, type RealScene, startRealScene } from './support/real-scene.ts';
import { report } from './support/report.ts';

jest.setTimeout(120_000);

let scene: RealScene;

beforeAll(async () => {
  scene = await startRealScene();
});

afterAll(async () => {
  await scene?.stop();
});

/** A view that the wrapper has too, so that it takes an interest in what is said about it. */
const QUERY = {
  group: 'discovery.k8s.io',
  plural: 'endpointslices',
  namespace: '',
  labelSelector: '!service.kubernetes.io/headless',
  fieldSelector: '',
  encoding: 'protobuf',
};
type Answer = (response: ServerResponse) => void;

const endless: Answer = (response) => {
  const write = (): void => {
    while (!response.destroyed && response.write('x'.repeat(65_536)));
  };
  response.on('drain', write);
  response.on('error', () => {});
  write();
};

/** The answers of the process at the admin port, by path. Default for `/views`: one query. */
const ANSWERS: Readonly<Record<string, Readonly<Record<string, Answer>>>> = {
  'junk for views': {
    '/views': (response) => response.end(`[${'{"plural":"secrets"},'.repeat(1_000)}null]`),
  },
  'views without an end': { '/views': endless },
  'nothing for views': { '/views': () => {} },
};

/** How long the other process keeps the ports, in milliseconds. */
const POSE_MS = 2_000;

/** Listens at the ports of the wrapper, as any local process could. */
async function pose(ports: readonly number[], answers: Readonly<Record<string, Answer>>) {
  const asked: string[] = [];
  const servers = await Promise.all(
    ports.map(async (port) => {
      const server = createServer((request, response) => {
        const { url = '' } = request;
        asked.push(url);
        const answer = answers[url];
        if (answer !== undefined) answer(response);
        else if (url === '/views') response.end(JSON.stringify([QUERY]));
        else response.writeHead(404).end();
      }).listen(port, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const close = async (): Promise<void> => {
    const closed = servers.map((server) => new Promise((done) => server.close(done)));
    for (const server of servers) server.closeAllConnections();
    await Promise.all(closed);
  };
  return { asked, close };
}

describe('F6: a local process has the admin port before the wrapper starts', () => {
  test.each(Object.keys(ANSWERS))('and answers with %s', async (name) => {
    const ports = await freePorts(3);
    const poser = await pose(ports.slice(0, 2), ANSWERS[name] ?? {});
    const options = { kubeconfig: scene.plane.kubeconfig('wrapper'), nodeName: HERE, ports };
    let wrapper = await startHostWrapper({ ...options, wait: false });
    try {
      await sleep(POSE_MS);
      await poser.close();
      const gone = performance.now();
      await sleep(300);
      // kubelet restarts a process that has ended.
      if (wrapper.process.ending() !== undefined) {
        await wrapper.stop();
        wrapper = await startHostWrapper({ ...options, wait: false });
      }
      const waited = await readyAfter(wrapper, gone);
      const { version, resumed } = await resume(wrapper);
      const kubeProxy = await startLikeKubeProxy(wrapper.url, HERE, '1.36');
      report(
        'F6',
        `${name}: requests: ${poser.asked.join(' ') || 'none'}; ready ${waited} ms after it ended`,
      );
      report(
        'F6',
        `${name}: version ${version}, resumed: ${resumed}; a kube-proxy: ${kubeProxy.statuses}`,
      );
      expect(waited).toBeLessThan(5_000);
      expect(BigInt(version) < 2n ** 63n).toBe(true);
      expect(resumed).toBe('200 ADDED');
      expect(kubeProxy.statuses).toEqual([200, 200, 200, 200]);
    } finally {
      await poser.close();
      await wrapper.stop();
    }
  });
});

async function readyAfter(wrapper: HostWrapper, since: number): Promise<number> {
  while (performance.now() - since < 15_000) {
    const { status } = await wrapper.admin('/readyz', { timeoutMs: 1_000 });
    if (status === 200) break;
    await sleep(50);
  }
  return Math.round(performance.now() - since);
}

/** Lists Services, watches from that version, and makes a change. Returns what the watch gets. */
async function resume(wrapper: HostWrapper): Promise<{ version: string; resumed: string }> {
  const { body } = await send(`${wrapper.url}/api/v1/services?resourceVersion=0`);
  const version = /"resourceVersion":"(\d+)"/.exec(body)?.[1] ?? '0';
  const watch = send(
    `${wrapper.url}/api/v1/services?watch=true&resourceVersion=${version}&timeoutSeconds=5`,
    { until: '"name":"resumed"' },
  );
  await sleep(200);
  await createService(scene.plane.admin, { name: 'resumed', ports: [{ port: 80 }] });
  const { status, body: events } = await watch;
  await deleteService(scene.plane.admin, 'resumed');
  return {
    version,
    resumed: `${status} ${/"type":"(\w+)"/.exec(events)?.[1] ?? events.slice(0, 100)}`,
  };
}
