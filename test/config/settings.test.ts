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

describe('loadSettings()', () => {
  test('the node name is converted to lower case, as kubelet does with a host name', () => {
    expect(loadSettings({}, { NODE_NAME: 'Edge-1' }, undefined).nodeName).toBe('edge-1');
  });

  test('space around the node name is removed', () => {
    expect(loadSettings({}, { NODE_NAME: ' edge-1\n' }, undefined).nodeName).toBe('edge-1');
    const longest = `${'a'.repeat(63)}.`.repeat(4).slice(0, 253);
    expect(loadSettings({ nodeName: longest }, {}, undefined).nodeName).toBe(longest);
  });

  test.each(['a b', 'a,metadata.name=b', 'a_b', '-a', 'a..b', ' ', 'a'.repeat(254)])(
    'refuses %j as the name of a node, for no Node can have it',
    (nodeName) => {
      const load = () => loadSettings({ nodeName }, {}, undefined);
      expect(load).toThrow(/nodeName=".*": is not a valid name of a Node/);
    },
  );

  test('a flag wins over the environment, the environment over the file', () => {
    const path = file('nodeName: of-file\nkubeconfig: /file\nlogLevel: warn\n');
    const environment = { NODE_NAME: 'of-environment', KUBECONFIG: '/environment' };
    expect(loadSettings({ nodeName: 'of-flag' }, environment, path)).toMatchObject({
      nodeName: 'of-flag',
      kubeconfig: '/environment',
      logLevel: 'warn',
    });
  });

  test('localRuntime is a path, or unix:// and one; anything else is refused', () => {
    const load = (localRuntime: string) =>
      loadSettings({ nodeName: 'n', localRuntime }, {}, undefined);
    expect(load('/run/cri.sock').localRuntime).toBe('/run/cri.sock');
    expect(load('unix:///run/cri.sock').localRuntime).toBe('/run/cri.sock');
    for (const wrong of ['cri.sock', 'unix://cri.sock', '/', 'tcp://10.0.0.1:80']) {
      expect(() => load(wrong)).toThrow(`localRuntime="${wrong}": must be an absolute path`);
    }
  });

  // The wrapper once read only the first document: a dry run that was set in the second one was ignored.
  test.each(['logLevel: info\n---\ndryRun: true\n', '---\na: 1\n---\nb: 2\n---\n'])(
    'refuses a file of several YAML documents: %j',
    (text) => {
      const path = file(text);
      expect(() => loadSettings({ nodeName: 'n' }, {}, path)).toThrow(
        `the settings file ${path} contains several YAML documents; put all settings into one, without --- between them`,
      );
    },
  );

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

  test.each([
    ['nodename: edge-1', /no node name.*unknown key nodename|unknown key nodename/],
    [
      'nodeName: n\nhandoverSecond: 1',
      /unknown key handoverSecond \(did you mean handoverSeconds\?\) in .*yaml$/,
    ],
    [
      'nodeName: n\nedge: { labelselector: a }',
      /unknown key edge.labelselector \(did you mean edge.labelSelector\?\)/,
    ],
    [
      'nodeName: n\nmaxEventBytes: 1\nzebra: red',
      /: maxEventBytes was removed: .*delete the key; unknown key zebra in /,
    ],
    ['{}', /no node name: give --node-name, NODE_NAME or nodeName/],
    ['nodeName: n\nlisten: localhost', /listen="localhost": must be <ip>:<port>/],
    ['nodeName: n\nmaxViews: many', /maxViews="many": must be of type number/],
    ['nodeName: n\nmaxViews: 1e300', /maxViews=1e\+300: must be a whole number/],
    ['nodeName: n\nedge: { a: 1, b: 2 }', /unknown key edge\.a, edge\.b in /],
    ['nodeName: n\nconstructor: 1', /unknown key constructor in /],
    ['nodeName: n\nservers: ["https://a", 5]', /servers\.1: must be of type string/],
    ['nodeName: n\nservers: [ftp://a]', /servers.*must be the URL of an API server/],
    ['nodeName: n\nservers: ["https://user:secret@a"]', /servers.*without a user/],
    ['nodeName: n\nmaxObjects: 1', /maxObjects was removed: its default is now fixed/],
    ['- a\n- b', /settings.yaml is not a mapping/],
    ['a: [', /cannot read the settings file .*settings.yaml/],
  ])('refuses %j in one line that names it', (text, message) => {
    const load = () => loadSettings({}, {}, file(text));
    expect(load).toThrow(message);
    expect(load).toThrow(/^[^\n]+$/);
  });

  test.each(['servers: ["https://user:s3cret@a"]', 'servers: https://user:s3cret@a'])(
    'does not show what may hold a password: %j',
    (text) => {
      const load = () => loadSettings({ nodeName: 'n' }, {}, file(text));
      expect(load).toThrow(/invalid settings: servers[^=]*: /);
      expect(load).not.toThrow(/s3cret/);
    },
  );

  test('refuses an alias that contains itself', () => {
    const text = 'communities: &x { nodeLabels: *x }';
    expect(() => loadSettings({ nodeName: 'n' }, {}, file(text))).toThrow(/contains itself/);
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
    ['listen: none', /listen="none": needs https/],
    ['https: { }', /https.listen: is required: must be of type string/],
    ['minReady: []', /minReady=\[\]: must be a mapping/],
    ["https: { listen: '127.0.0.1:1' }", /https.certFile: .*https.keyFile: /],
    [
      `https: { listen: '127.0.0.1:1', ${PAIR}, selfSigned: { caFile: /a } }`,
      /https.selfSigned was removed: .*openssl/,
    ],
    [
      `https: { listen: '127.0.0.1:1', ${PAIR}, clientCaFile: /a }`,
      /https.clientCaFile was removed: .*need a token/,
    ],
    ['allowedTopologyKeys: [a b]', /allowedTopologyKeys.0="a b": is not a label key, a prefix/],
    [
      'defaultTopologyKeys: [site]\nallowedTopologyKeys: [zone]',
      /defaultTopologyKeys=.*: topologyKeys holds "site", which the setting allowedTopologyKeys does/,
    ],
    ['bookmarkSeconds: 30', /bookmarkSeconds was removed: its default is now fixed/],
  ])('refuses %j', (text, message) => {
    expect(() => loadSettings({ nodeName: 'n' }, {}, file(text))).toThrow(message);
  });

  // Ports are shared with the next process, so the kernel would spread connections over both listeners.
  test.each([
    ['listen: 127.0.0.1:10361', 'listen="127.0.0.1:10361": uses the port of adminListen'],
    ['adminListen: 0.0.0.0:10360', 'listen: uses the port of adminListen, 0.0.0.0:10360'],
    ["adminListen: '[::]:10360'", 'listen: uses the port of adminListen, [::]:10360'],
    [
      `https: { listen: '127.0.0.1:10360', ${PAIR} }`,
      'listen: uses the port of https.listen, 127.0.0.1:10360',
    ],
    [
      `https: { listen: '0.0.0.0:10361', ${PAIR} }`,
      'https.listen="0.0.0.0:10361": uses the port of adminListen, 127.0.0.1:10361',
    ],
  ])('refuses two listeners at one port: %j', (text, message) => {
    expect(() => loadSettings({ nodeName: 'n' }, {}, file(text))).toThrow(message);
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
