import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { loadSettings } from '../../src/config/settings.ts';
import { useFolder } from '../support/use-folder.ts';

let folder: string;

beforeEach(() => {
  folder = useFolder();
});

function file(text: string): string {
  const path = join(folder, 'settings.yaml');
  writeFileSync(path, text);
  return path;
}

/** The message of a settings file, in which FILE stands for its path: always one line. */
function errorOf(text: string): string {
  const path = file(text);
  try {
    loadSettings({}, {}, path);
    return 'none';
  } catch (error) {
    const { message } = error as Error;
    expect(message).toMatch(/^[^\n]+$/);
    return message.replaceAll(path, 'FILE');
  }
}

describe('loadSettings()', () => {
  test('the node name is converted to lower case, as kubelet does with a host name', () => {
    expect(loadSettings({}, { NODE_NAME: 'Edge-1' }, undefined).nodeName).toBe('edge-1');
  });

  test('space around the node name is removed', () => {
    expect(loadSettings({}, { NODE_NAME: ' edge-1\n' }, undefined).nodeName).toBe('edge-1');
    const longest = `${'a'.repeat(63)}.`.repeat(4).slice(0, 253);
    expect(loadSettings({ nodeName: longest }, {}, undefined).nodeName).toBe(longest);
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

  test('localRuntime is a path, or unix:// and one', () => {
    for (const localRuntime of ['/run/cri.sock', 'unix:///run/cri.sock']) {
      const settings = loadSettings({ nodeName: 'n', localRuntime }, {}, undefined);
      expect(settings.localRuntime).toBe('/run/cri.sock');
    }
  });

  test.each([
    '# a word\n---\ndryRun: true\n',
    'dryRun: true\n---\n',
    '---\n---\ndryRun: true\n...\n',
  ])('an empty document beside the one is none: %j', (text) => {
    expect(loadSettings({ nodeName: 'n' }, {}, file(text)).dryRun).toBe(true);
  });

  test('takes an IPv6 address in brackets', () => {
    const { listen } = loadSettings({ nodeName: 'n', listen: '[::1]:80' }, {}, undefined);
    expect(listen).toEqual({ host: '::1', port: 80 });
  });

  // What may hold a password is not shown.
  test.each([
    '{}',
    'nodename: edge-1',
    'nodeName: a b',
    'nodeName: a,metadata.name=b',
    'nodeName: a_b',
    'nodeName: -a',
    'nodeName: a..b',
    'nodeName: " "',
    `nodeName: ${'a'.repeat(254)}`,
    '- a\n- b',
    'a: [',
    // The wrapper once read only the first document: a dry run that was set in the second one was ignored.
    'logLevel: info\n---\ndryRun: true\n',
    '---\na: 1\n---\nb: 2\n---\n',
  ])('the error of a file with %j', (text) => {
    expect(errorOf(text)).toMatchSnapshot();
  });

  test.each([
    'handoverSecond: 1',
    'edge: { labelselector: a }',
    'edge: { a: 1, b: 2 }',
    'constructor: 1',
    'maxEventBytes: 1\nzebra: red',
    'maxObjects: 1',
    'bookmarkSeconds: 30',
    'returnDelaySeconds: 30',
    'listen: localhost',
    'listen: none',
    'maxViews: many',
    'maxViews: 1e300',
    'servers: ["https://a", 5]',
    'servers: [ftp://a]',
    'servers: ["https://user:s3cret@a"]',
    'servers: https://user:s3cret@a',
    'relays: { servers: ["https://user:s3cret@a"], caFile: /ca }',
    'relays: { caFile: /ca }',
    'relays: { service: relay, caFile: /ca }',
    'relays: { service: a/b, servers: ["https://a"], caFile: /ca }',
    'communities: &x { nodeLabels: *x }',
    'localRuntime: cri.sock',
    'localRuntime: unix://cri.sock',
    'localRuntime: /',
    'localRuntime: tcp://10.0.0.1:80',
    'https: { }',
    "https: { listen: '127.0.0.1:1' }",
    "https: { listen: '127.0.0.1:1', certFile: /c, keyFile: /k, selfSigned: { caFile: /a } }",
    "https: { listen: '127.0.0.1:1', certFile: /c, keyFile: /k, clientCaFile: /a }",
    'allowedTopologyKeys: [a b]',
    'defaultTopologyKeys: [site]\nallowedTopologyKeys: [zone]',
    'defaultTopologyKeys: nonsense',
    'defaultTopologyKeys: 5',
    "defaultTopologyKeys: ['*', a]",
    'compatibility: [superedge]',
    'communities: { nodeLabels: [a b] }',
    'communities: { labelPrefix: x }',
    'communities: { labelValues: [a b] }',
    "communities: { fabedgeCluster: '' }",
    'edge: { labelSelector: a b }',
    "edge: { labelSelector: '' }",
    'serviceFilter: {}',
    'minReady: []',
    'minReady: { kubernetes.io/hostname: 0 }',
    'minReady: { a b: 2 }',
    // Ports are shared with the next process, so the kernel would spread connections over both listeners.
    'listen: 127.0.0.1:10361',
    'adminListen: 0.0.0.0:10360',
    "adminListen: '[::]:10360'",
    'https: { listen: 127.0.0.1:10360, certFile: /c, keyFile: /k }',
    'https: { listen: 0.0.0.0:10361, certFile: /c, keyFile: /k }',
  ])('the error of %j', (text) => {
    expect(errorOf(`nodeName: n\n${text}`)).toMatchSnapshot();
  });

  const PAIR = 'certFile: /c, keyFile: /k';

  test('https has a default for all but its address and certificate', () => {
    const { https } = loadSettings(
      { nodeName: 'n' },
      {},
      file(`https: { listen: '0.0.0.0:10362', ${PAIR} }`),
    );
    expect(https).toEqual({
      listen: { host: '0.0.0.0', port: 10362 },
      certFile: '/c',
      keyFile: '/k',
    });
  });

  test('plain http can be switched off if there is an https listener', () => {
    const text = `listen: none\nhttps: { listen: '[::]:1', ${PAIR} }`;
    const { listen, https } = loadSettings({ nodeName: 'n' }, {}, file(text));
    expect([listen, https?.listen]).toEqual([undefined, { host: '::', port: 1 }]);
  });

  test.each([
    'listen: 127.0.0.1:0\nadminListen: 127.0.0.1:0',
    'listen: 127.0.0.2:10361',
    "listen: '[::1]:10361'",
    'listen: none\nhttps: { listen: 127.0.0.1:10360, certFile: /c, keyFile: /k }',
  ])('takes listeners that do not meet: %j', (text) => {
    expect(() => loadSettings({ nodeName: 'n' }, {}, file(text))).not.toThrow();
  });

  test('an empty file sets nothing, a missing one is named', () => {
    expect(loadSettings({ nodeName: 'n' }, {}, file(''))).toMatchObject({ nodeName: 'n' });
    expect(() => loadSettings({}, {}, join(folder, 'none.yaml'))).toThrow(/none\.yaml.*ENOENT/);
  });
});
