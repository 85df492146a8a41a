import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { kubeconfigFor } from '../../fake-apiserver/kubeconfig.ts';
import { CURRENT_SLICES } from '../../src/client/api/kube-proxy-queries.ts';
import { queryPath } from '../../src/client/api/query.ts';
import { VERSION } from '../../src/version.ts';
import { ACCEPT } from '../support/guarantees/watch-recorder.ts';
import { useProcess } from '../support/process/use-process.ts';
import type { WrapperProcess } from '../support/process/wrapper-process.ts';
import { useFolder } from '../support/use-folder.ts';
import { putService, putSlice } from '../support/wrapper/small-cluster.ts';
import { useCluster } from '../support/wrapper/use.ts';

const ISO = /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let server: ApiServer;
let url: string;

beforeEach(async () => {
  server = useCluster();
  putService(server, 'web', ['site']);
  url = await server.listen();
});

function start(settings: Record<string, unknown> = {}): WrapperProcess {
  const folder = useFolder();
  const [kubeconfig, config] = [join(folder, 'kubeconfig'), join(folder, 'settings.yaml')];
  writeFileSync(kubeconfig, kubeconfigFor(url));
  writeFileSync(config, JSON.stringify(settings));
  return useProcess(kubeconfig, '--config', config);
}

/** Opens the views of kube-proxy. */
async function readAsKubeProxy(url: string): Promise<void> {
  await fetch(url + queryPath(CURRENT_SLICES), { headers: { accept: ACCEPT.protobuf } });
}

test('the log says what starts, with which settings, what is watched, and when it is ready', async () => {
  const { lines, logged } = start({ maxViews: 7, logLevel: 'info' });
  const { listen, apiServer } = await logged('listening');
  expect(apiServer).toBe(new URL(url).host);
  await readAsKubeProxy(String(listen));
  expect(lines[0]).toMatchObject({
    level: 'info',
    time: expect.stringMatching(ISO),
    node: 'edge-1',
    msg: `kube-proxy-wrapper ${VERSION} starts`,
    version: VERSION,
    nodeVersion: process.version,
    settings: { maxViews: 7, listen: '127.0.0.1:0' },
  });
  expect(lines[0]?.settings).not.toHaveProperty('logLevel');
  expect(await logged('ready')).toMatchObject({
    apiServer: new URL(url).host,
    services: 1,
    nodeSets: ['site=a'],
    watches: expect.arrayContaining([expect.stringContaining('endpointslices')]),
  });
});

test('a changed decision is logged with its cause, because the journal ends with the process', async () => {
  putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.2', node: 'edge-2' }]);
  const { logged } = start();
  const { listen } = await logged('listening');
  await readAsKubeProxy(String(listen));
  server.annotate('web', 'topologyKeys', '["*"]');
  expect(await logged('the decision about a Service changed')).toMatchObject({
    level: 'info',
    service: 'default/web',
    from: 'site',
    to: '*',
    cause: 'policy',
  });
});

test('SIGHUP is ignored, with one line that says what to do', async () => {
  const { child, logged, stop } = start();
  await logged('listening');
  child.kill('SIGHUP');
  await logged('SIGHUP is ignored: settings are read at the start; restart the process instead');
  expect(child.exitCode).toBeNull();
  expect(await stop()).toBe(0);
});
