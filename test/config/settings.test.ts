import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { loadSettings } from '../../src/config/settings.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'settings-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function file(text: string): string {
  const path = join(folder, 'settings.yaml');
  writeFileSync(path, text);
  return path;
}

describe('loadSettings()', () => {
  test('has a default for all but the node name', () => {
    expect(loadSettings({ nodeName: 'edge-1' }, {}, undefined)).toEqual({
      nodeName: 'edge-1',
      listen: { host: '127.0.0.1', port: 10360 },
      adminListen: { host: '127.0.0.1', port: 10361 },
      logLevel: 'info',
      defaultTopologyKeys: { keys: [] },
      namespacePolicies: false,
      compatibility: [],
      headless: false,
      communities: {
        nodeLabels: [],
        labelPrefix: 'community.kube-proxy-wrapper.io/',
        labelValues: [],
      },
      edge: {
        labelSelector: [{ key: 'node-role.kubernetes.io/edge', operator: 'exists', values: [] }],
      },
      cloud: { mode: 'endpoints' },
      minReady: {},
      returnDelaySeconds: 0,
      dryRun: false,
      windowEntries: 10_000,
      windowBytes: 33_554_432,
      maxViews: 64,
      idleViewSeconds: 300,
      readyWaitSeconds: 5,
      bookmarkSeconds: 60,
    });
  });

  test('a flag wins over the environment, the environment over the file', () => {
    const path = file('nodeName: of-file\nkubeconfig: /file\nlogLevel: warn\n');
    const environment = { NODE_NAME: 'of-environment', KUBECONFIG: '/environment' };
    expect(loadSettings({ nodeName: 'of-flag' }, environment, path)).toMatchObject({
      nodeName: 'of-flag',
      kubeconfig: '/environment',
      logLevel: 'warn',
    });
  });

  test('takes an IPv6 address in brackets', () => {
    const { listen } = loadSettings({ nodeName: 'n', listen: '[::1]:80' }, {}, undefined);
    expect(listen).toEqual({ host: '::1', port: 80 });
  });

  test.each([
    ['nodename: edge-1', /no node name.*unknown key nodename|unknown key nodename/],
    ['{}', /no node name: give --node-name, NODE_NAME or nodeName/],
    ['nodeName: n\nlisten: localhost', /listen="localhost": must be <ip>:<port>/],
    ['nodeName: n\nlisten: 127.0.0.1:99999', /listen="127.0.0.1:99999"/],
    ['nodeName: n\nmaxViews: 0', /maxViews=0/],
    ['nodeName: n\nmaxViews: many', /maxViews="many"/],
    ['nodeName: n\nheadless: "yes"', /headless="yes"/],
    ['nodeName: n\nlogLevel: loud', /logLevel="loud"/],
    ['nodeName: n\ndefaultTopologyKeys: ["*", site]', /defaultTopologyKeys=.*has to be the last/],
    ['- a\n- b', /settings.yaml holds no mapping/],
    ['a: [', /cannot read the settings file .*settings.yaml/],
  ])('refuses %j in one line that names it', (text, message) => {
    const load = () => loadSettings({}, {}, file(text));
    expect(load).toThrow(message);
    expect(load).toThrow(/^[^\n]+$/);
  });

  test('an empty file sets nothing, a missing one is named', () => {
    expect(loadSettings({ nodeName: 'n' }, {}, file(''))).toMatchObject({ nodeName: 'n' });
    expect(() => loadSettings({}, {}, join(folder, 'none.yaml'))).toThrow(/none\.yaml.*ENOENT/);
  });
});
