import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { isSettingsFile } from '../../cli/simulate/manifest-files.ts';
import { readManifests } from '../../cli/simulate/read-manifests.ts';
import { selectContext } from '../../src/client/credentials/kubeconfig.ts';
import { loadSettings } from '../../src/config/settings.ts';
import { parseManifests, parseYaml, readBounded } from '../../src/text/read-yaml.ts';

const folder = mkdtempSync(join(tmpdir(), 'read-yaml-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(text: string): string {
  const path = join(folder, 'x.yaml');
  writeFileSync(path, text);
  return path;
}

/** 900 bytes that are 10 GB when they are written out. */
const lines = Array.from({ length: 10 }, (_, n) => {
  const each = n === 0 ? 'x' : `*a${n - 1}`;
  return `  a${n}: &a${n} [${Array(9).fill(each).join(', ')}]`;
});
const BOMB = `kind: Service\nmetadata:\n${lines.join('\n')}\n`;

// `simulate` and `run --config` walked over them until the memory was full.
test('aliases that expand to many times the size of the file are refused, in manifests and settings', () => {
  expect(() => readManifests([file(BOMB)])).toThrow(
    /cannot read .*x\.yaml: its aliases \(\*name\) expand/,
  );
  expect(() => loadSettings({}, {}, file(BOMB))).toThrow(/its aliases \(\*name\) expand/);
});

test('a long text that is repeated by aliases counts with its length', () => {
  const long = `a: &a ${'x'.repeat(100_000)}\nb: [${Array(1_000).fill('*a').join(', ')}]\n`;
  expect(() => parseYaml(long)).toThrow(/expand/);
});

test('an alias that contains itself is refused', () => {
  expect(() => parseYaml('a: &a [*a]')).toThrow(/contains itself/);
});

test('usual aliases, several documents and empty ones are read', () => {
  expect(parseYaml('---\na: &a {x: 1}\nb: [*a, 2]\nc: *a\n---\n---\nd\n')).toEqual([
    { a: { x: 1 }, b: [{ x: 1 }, 2], c: { x: 1 } },
    'd',
  ]);
});

// PowerShell's `>` writes UTF-16 (kubernetes/kubernetes#39007); YAML's error was about a null byte.
test.each(['\ufeffkind: Node', '\ufffekind: Node'])('UTF-16 is refused as that: %j', (text) => {
  const path = file('');
  writeFileSync(path, text, 'utf16le');
  expect(() => readManifests([path])).toThrow(/x\.yaml: it is in UTF-16; save it as UTF-8$/);
});

test('a file that never ends, or is too long, is not read to its end', () => {
  expect(() => readBounded('/dev/zero', 4 * 1024 * 1024)).toThrow('more than 4194304 bytes');
  expect(() => loadSettings({}, {}, file(`#${' '.repeat(1024 * 1024)}`))).toThrow(
    /cannot read the settings file .*: it has more than 1048576 bytes/,
  );
  expect(readBounded(file('a: 1'))).toBe('a: 1');
});

// As sigs.k8s.io/yaml, which kubectl uses.
test.each([
  ['{x: 1, y: 2}', '<<: *a', { x: 1, y: 2 }],
  ['{x: 1, y: 2}', 'y: 3\n  <<: *a', { x: 1, y: 3 }],
  ['{x: 1, y: 2}', '<<: [*a, {y: 4, z: 5}]', { x: 1, y: 2, z: 5 }],
  ['{x: 1}', '"<<": 2', { '<<': 2 }],
])('a merge key is merged: %s, %s', (anchor, lines, merged) => {
  expect(parseYaml(`a: &a ${anchor}\nb:\n  ${lines}\n`)).toEqual([
    { a: expect.anything(), b: merged },
  ]);
});

/* YAML 1.1 as go.yaml.in/yaml/v2 of kubectl 1.37 reads it (resolve.go). */
const BOOLEANS = [
  ['y', 'Y', 'yes', 'Yes', 'YES', 'on', 'On', 'ON', 'true', 'True', 'TRUE'],
  ['n', 'N', 'no', 'No', 'NO', 'off', 'Off', 'OFF', 'false', 'False', 'FALSE'],
] as const;

// `kube-proxy-wrapper.io/filter: off` was simulated, and kubectl refuses it: a bool where a string is wanted.
test('manifests have the booleans of kubectl, and strings where they are quoted', () => {
  const [yes, no] = BOOLEANS.map((words) => `[${words.join(', ')}]`);
  expect(parseManifests(`a: ${yes}\nb: ${no}\nc: [yEs, "off", oN, t, f]\n`)).toEqual([
    { a: Array(11).fill(true), b: Array(11).fill(false), c: ['yEs', 'off', 'oN', 't', 'f'] },
  ]);
  const path = file('kind: Node\nmetadata: {name: a, labels: {site: y}}\n');
  expect(() => readManifests([path])).toThrow(/Node a in .*: the value of site in labels is not/);
});

test.each(['no', '{name: a}'])('a name that is no string is refused: %s', (name) => {
  const path = file(`kind: Node\nmetadata: {name: ${name}}\n`);
  expect(() => readManifests([path])).toThrow(/cannot read Node .* in .*x\.yaml: /);
});

// They are our own: `site: no` there is the value of a label.
test('words of settings remain words', () => {
  expect(parseYaml('[y, no, on, off]')).toEqual([['y', 'no', 'on', 'off']]);
});

test('a kubeconfig has the booleans of kubectl', () => {
  const lines = [
    'current-context: a',
    'contexts: [{name: a, context: {cluster: a}}]',
    'clusters: [{name: a, cluster: {server: "https://10.0.0.1", insecure-skip-tls-verify: yes}}]',
  ];
  const { cluster } = selectContext([{ file: '/x', text: lines.join('\n') }]);
  expect(cluster['insecure-skip-tls-verify']).toBe(true);
});

// { kubectl get svc -o json; kubectl get endpointslices -o json; } | simulate --from -
test.each([
  ['{"a": "}{"}\n{"b": [{"\\"{": 1}]}\n'],
  ['{"a": "}{"}{"b": [{"\\"{": 1}]}'],
  [' {"a": "}{"}\n---\n{"b": [{"\\"{": 1}]}'],
])('JSON documents in one stream are read: %j', (text) => {
  expect(parseManifests(text)).toEqual([{ a: '}{' }, { b: [{ '"{': 1 }] }]);
});

test.each([
  ['{"a": 1} {"b": 2} c', /separator/],
  ['{"a": 1} }', /separator/],
  ['{"a": 1', /flow/],
])('what is not JSON to its end is no JSON stream: %s', (text, message) => {
  expect(() => parseManifests(text)).toThrow(message);
});

test('a JSON stream is no settings file', () => {
  expect(isSettingsFile(file('{"kind": "List"}{"kind": "List"}'), false)).toBe(false);
});

test('a JSON document alone is YAML, where no key occurs twice', () => {
  expect(() => parseManifests('{"a": 1, "a": 2}')).toThrow(/duplicated/);
});

test('a flow mapping is no JSON, and is read', () => {
  expect(parseManifests('{a: yes, b: {c: 1}} # {\n')).toEqual([{ a: true, b: { c: 1 } }]);
});

test('a kubeconfig may have merge keys', () => {
  const lines = [
    'x: &tls {server: "https://10.0.0.1:6443"}',
    'current-context: a',
    'contexts: [{name: a, context: {cluster: a, user: a}}]',
    'clusters: [{name: a, cluster: {<<: *tls, tls-server-name: b}}]',
    'users: [{name: a}]',
  ];
  const { cluster } = selectContext([{ file: '/x', text: lines.join('\n') }]);
  expect(cluster).toMatchObject({ server: 'https://10.0.0.1:6443', 'tls-server-name': 'b' });
});

test('a settings file may have merge keys', () => {
  const settings = loadSettings({}, { NODE_NAME: 'edge-1' }, file('<<: {listen: "127.0.0.1:1"}\n'));
  expect(settings.listen).toMatchObject({ port: 1 });
});
