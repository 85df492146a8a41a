import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { userKubeconfig } from '../../cli/command-line/user-kubeconfig.ts';
import { useFolder } from '../support/use-folder.ts';

let home: string;
const at = (name: string) => join(home, name);

beforeEach(() => {
  home = useFolder();
  mkdirSync(at('.kube'));
  writeFileSync(at('.kube/config'), '');
});

test.each<[string, Record<string, string>, string[], string[]]>([
  ['--kubeconfig', { kubeconfig: '/given' }, ['/a'], ['/given']],
  ['~/.kube/config', {}, [], ['.kube/config']],
  ['the file of $KUBECONFIG', {}, ['/a'], ['/a']],
  ['all files of $KUBECONFIG', { context: 'prod' }, ['/a', '', '/b'], ['/a', '/b']],
])('the kubeconfig is %s', (_, flags, files, expected) => {
  const { kubeconfig } = userKubeconfig(flags, { KUBECONFIG: files.join(delimiter) }, home);
  expect(kubeconfig).toEqual(expected.map((path) => (path.startsWith('/') ? path : at(path))));
});

test('no kubeconfig at all is an error that says how to name one', () => {
  expect(() => userKubeconfig({}, {}, at('nobody'))).toThrow(
    `there is no kubeconfig: ${at('nobody/.kube/config')} does not exist; give --kubeconfig FILE, or set KUBECONFIG`,
  );
});
