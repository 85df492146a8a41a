import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { MAIN } from '../support/process/wrapper-process.ts';

const print = (...args: string[]) =>
  execFileSync(process.execPath, [MAIN, ...args], { encoding: 'utf8' });
const bash = print('completion', 'bash');

/** The completions that bash offers for the last word. */
function complete(...words: string[]): string[] {
  const program = `${bash}
COMP_WORDS=(${['kube-proxy-wrapper', ...words].map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length}
_kube_proxy_wrapper
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('bash', ['-c', program], { encoding: 'utf8' });
  return output.split('\n').filter((word) => word !== '');
}

test.each<[string[], string[]]>([
  [['ch'], ['check']],
  [['--v'], ['--version']],
  [
    ['explain', '--'],
    [
      ...['--admin', '--namespace', '--all-namespaces', '--selector', '--warnings'],
      ...['--output', '--no-headers', '--help'],
    ],
  ],
  [['simulate', '--from', 'cluster.yaml', '--d'], ['--diff']],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish', '--help'],
  ],
  [
    ['explain', '-o', 'js'],
    ['json', 'jsonpath='],
  ],
  [
    ['check', '--mode', 'ip'],
    ['iptables', 'ipvs'],
  ],
  // The shell completes file names.
  [['simulate', '--from', 'clus'], []],
  [['no-command', '--'], []],
])('bash completes %j to %j', (words, offered) => {
  expect(complete(...words)).toEqual(offered);
});

test('every flag of --help is completed, in each shell', () => {
  const fish = print('completion', 'fish').split('\n');
  for (const command of ['run', 'explain', 'diff', 'simulate', 'check', 'analyze', 'decisions']) {
    const help = print(command, '--help');
    const flags = [...help.matchAll(/^ {2}(?:-\w, )?--([a-z-]+)/gm)].map(([, flag = '']) => flag);
    expect(flags.length).toBeGreaterThan(2);
    expect(complete(command, '--')).toEqual(
      expect.arrayContaining(flags.map((flag) => `--${flag}`)),
    );
    for (const flag of flags) {
      const isIt = (line: string) => line.includes(`from ${command}' -l ${flag}`);
      expect([flag, fish.some(isIt)]).toEqual([flag, true]);
    }
  }
  expect(print('completion', 'zsh')).toContain(bash);
}, 30_000);
