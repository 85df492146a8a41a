import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { userKubeconfig } from '../../src/commands/command-line/user-kubeconfig.ts';

let home: string;
const at = (name: string) => join(home, name);

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'home-'));
  mkdirSync(at('.kube'));
  for (const [name, context] of [
    ['.kube/config', 'own'],
    ['a', 'dev'],
    ['b', 'prod'],
  ] as const) {
    const config = {
      'current-context': name === 'a' ? '' : context,
      contexts: [{ name: context }],
    };
    writeFileSync(at(name), JSON.stringify(config));
  }
});

afterAll(() => rmSync(home, { recursive: true }));

test.each<[string, object, string[], string]>([
  ['--kubeconfig', { kubeconfig: '/given' }, ['a'], '/given'],
  ['~/.kube/config', {}, [], '.kube/config'],
  ['the file of $KUBECONFIG', {}, ['a'], 'a'],
  ['the first with a current context', {}, ['none', 'a', 'b'], 'b'],
  ['the first with the context of --context', { context: 'prod' }, ['a', 'b'], 'b'],
])('the kubeconfig is %s', (_, flags, files, expected) => {
  const KUBECONFIG = files.map(at).join(delimiter);
  const { kubeconfig } = userKubeconfig(flags as { context?: string }, { KUBECONFIG }, home);
  expect(kubeconfig).toBe(expected.startsWith('/') ? expected : at(expected));
});

test('no kubeconfig at all is an error that says how to name one', () => {
  expect(() => userKubeconfig({}, {}, at('nobody'))).toThrow(
    `there is no kubeconfig: ${at('nobody/.kube/config')} does not exist; give --kubeconfig FILE, or set KUBECONFIG`,
  );
});

test('a context that no file of $KUBECONFIG has is an error that names them', () => {
  const KUBECONFIG = [at('a'), at('b')].join(delimiter);
  expect(() => userKubeconfig({ context: 'x' }, { KUBECONFIG }, home)).toThrow(
    `none of ${KUBECONFIG} has the context "x"`,
  );
});
