import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../embedded/api-server.ts';
import { createMetrics } from '../../src/admin/metrics.ts';
import { readiness } from '../../src/admin/readiness.ts';
import { ChildLoggers } from '../../src/commands/child-loggers.ts';
import { createSettingsReload } from '../../src/commands/settings-reload.ts';
import { loadSettings, type RawSettings } from '../../src/config/settings.ts';
import type { NodeProxy } from '../../src/proxy/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { createSmallCluster, putService, putSlice } from '../support/wrapper/small-cluster.ts';
import { PATHS } from '../support/wrapper/state-fixture.ts';
import { recordingLogger, startWrapper } from '../support/wrapper/wrapper-fixture.ts';

let server: ApiServer;
let proxy: NodeProxy;
let given: RawSettings;
let reload: () => void;
let lines: ReturnType<typeof recordingLogger>['lines'];

const read = () =>
  loadSettings({ nodeName: 'edge-1', listen: '127.0.0.1:0', ...given }, {}, undefined);

/** The wrapper runs on edge-1; `plain` has endpoints there and on edge-3. */
beforeEach(async () => {
  given = {};
  server = createSmallCluster();
  putService(server, 'plain', null);
  putSlice(server, 'plain-1', 'plain', [
    { ip: '10.0.0.1', node: 'edge-1' },
    { ip: '10.0.0.3', node: 'edge-3' },
  ]);
  const recorded = recordingLogger();
  ({ lines } = recorded);
  const { logger } = recorded;
  proxy = await startWrapper(await server.listen(), { logger });
  const children = new ChildLoggers();
  reload = createSettingsReload({ settings: read(), read, proxy, logger, children });
  await eventually(addresses, ['10.0.0.1', '10.0.0.3']);
});

afterEach(async () => {
  await proxy.close();
  await server.close();
});

async function addresses(): Promise<string[]> {
  const response = await fetch(proxy.url + PATHS.slices);
  const { items } = (await response.json()) as {
    items?: { endpoints?: { addresses: string[] }[] | null }[];
  };
  return (items ?? []).flatMap(({ endpoints }) => (endpoints ?? []).flatMap((e) => e.addresses));
}

const logged = (msg: string) => lines.filter((line) => line.msg === msg);
const isSuccessful = async () =>
  /^kube_proxy_wrapper_settings_last_reload_successful (\d)$/m.exec(
    await createMetrics(proxy).metrics(),
  )?.[1];

test('a new default applies to Services without an annotation at once, and goes again', async () => {
  given = { defaultTopologyKeys: ['kubernetes.io/hostname'] };
  reload();
  expect(await addresses()).toEqual(['10.0.0.1']);
  given = {};
  reload();
  expect(await addresses()).toEqual(['10.0.0.1', '10.0.0.3']);
  expect(logged('the settings are read again')).toMatchObject([
    { reloaded: ['defaultTopologyKeys'] },
    { reloaded: ['defaultTopologyKeys'] },
  ]);
});

test('Services that come later follow the new settings too', async () => {
  given = { defaultTopologyKeys: ['kubernetes.io/hostname'] };
  reload();
  putService(server, 'late', null);
  putSlice(server, 'late-1', 'late', [
    { ip: '10.0.1.1', node: 'edge-1' },
    { ip: '10.0.1.3', node: 'edge-3' },
  ]);
  await eventually(addresses, ['10.0.1.1', '10.0.0.1'].sort());
});

test('a key that is not allowed any more makes a policy invalid', async () => {
  server.annotate('default/plain', 'topologyKeys', '["site"]');
  await eventually(addresses, ['10.0.0.1']);
  given = { allowedTopologyKeys: ['example.com/*'] };
  reload();
  expect(await addresses()).toEqual(['10.0.0.1', '10.0.0.3']);
  expect(proxy.topology.policies.wanted('default/plain')).toMatchObject({
    reason: 'invalid-policy',
  });
});

test('settings that need a restart are named, and nothing of them changes', () => {
  given = { maxViews: 3 };
  reload();
  expect(proxy.views.budget.limits.maxViews).toBe(64);
  expect(logged('settings have changed that take effect only after a restart')).toMatchObject([
    { needRestart: ['maxViews'] },
  ]);
});

test('invalid settings change nothing; log, readyz and a metric say so until they are correct', async () => {
  expect(await isSuccessful()).toBe('1');
  given = { defaultTopologyKeys: ['kubernetes.io/hostname'], logLevel: 'loud' };
  reload();
  expect(await addresses()).toEqual(['10.0.0.1', '10.0.0.3']);
  expect(lines.filter(({ level }) => level === 50)).toMatchObject([
    { err: expect.stringContaining('logLevel="loud"') },
  ]);
  const check = () => readiness(proxy).find(({ name }) => name === 'settings');
  expect(check()).toMatchObject({
    problem: undefined,
    remark: expect.stringContaining('logLevel="loud"'),
  });
  expect(await isSuccessful()).toBe('0');
  given = { logLevel: 'warn' };
  reload();
  expect(check()).toBeUndefined();
  expect(await isSuccessful()).toBe('1');
});

test('a new log level reaches the loggers of collections too', () => {
  const { logger } = recordingLogger();
  const children = new ChildLoggers();
  const child = logger.child({ collection: 'x' });
  children.add(child);
  children.setLevel(logger, 'error');
  expect([logger.level, child.level]).toEqual(['error', 'error']);
});
