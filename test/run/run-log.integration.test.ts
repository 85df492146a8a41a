import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { kubeconfigFor } from '../../fake-apiserver/kubeconfig.ts';
import { VERSION } from '../../src/version.ts';
import { startProcess, type WrapperProcess } from '../support/process/wrapper-process.ts';
import { createSmallCluster, putService, putSlice } from '../support/wrapper/small-cluster.ts';

const ISO = /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let folder: string;
let server: ApiServer;
let url: string;
let wrapper: WrapperProcess;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'run-log-'));
  server = createSmallCluster();
  putService(server, 'web', ['site']);
  url = await server.listen();
  writeFileSync(join(folder, 'kubeconfig'), kubeconfigFor(url));
});

afterEach(async () => {
  wrapper.kill();
  await server.close();
  rmSync(folder, { recursive: true });
});

function configure(settings: Record<string, unknown>): void {
  writeFileSync(join(folder, 'settings.yaml'), JSON.stringify(settings));
}

function start(): WrapperProcess {
  const flags = ['--node-name', 'edge-1', '--kubeconfig', join(folder, 'kubeconfig')];
  flags.push('--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0');
  wrapper = startProcess([...flags, '--config', join(folder, 'settings.yaml')]);
  return wrapper;
}

test('the log says what starts, with which settings, what is watched, and when it is ready', async () => {
  configure({ maxViews: 7, logLevel: 'info' });
  const { lines, logged } = start();
  expect(await logged('ready')).toMatchObject({ apiServer: new URL(url).host });
  const { listen, apiServer } = await logged('listening');
  expect(apiServer).toBe(new URL(url).host);
  await fetch(`${listen}/apis/discovery.k8s.io/v1/endpointslices`);
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
  expect(await logged('endpoints are served: all that is watched has arrived')).toMatchObject({
    services: 1,
    nodeSets: ['site=a'],
    watches: expect.arrayContaining([expect.stringContaining('endpointslices')]),
  });
});

const KUBE_PROXY = new URLSearchParams({ labelSelector: '!service.kubernetes.io/headless' });

test('a changed decision is logged with its cause, because the journal ends with the process', async () => {
  putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.2', node: 'edge-2' }]);
  configure({});
  const { logged } = start();
  const { listen } = await logged('listening');
  await fetch(`${listen}/apis/discovery.k8s.io/v1/endpointslices?${KUBE_PROXY}`, {
    headers: { accept: 'application/vnd.kubernetes.protobuf' },
  });
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
  configure({});
  const { child, logged } = start();
  await logged('listening');
  child.kill('SIGHUP');
  await logged('SIGHUP is ignored: settings are read at the start; restart the process instead');
  expect(child.exitCode).toBeNull();
  expect(await wrapper.stop()).toBe(0);
});
