import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { closedLater } from '../support/closed-later.ts';
import { eventually } from '../support/eventually.ts';
import { writeKubeconfig } from '../support/http/kubeconfig.ts';
import { useFolder } from '../support/use-folder.ts';
import { createSmallCluster, putService, putSlice } from '../support/wrapper/small-cluster.ts';

/*
 * A credential plugin of a user's kubeconfig may show a device code, or ask for a second factor. With kubectl its
 * stderr and its terminal are the user's (kubernetes-client/python#1787, kubernetes/kubernetes#98451).
 */

const MAIN = new URL('../../cli/main.ts', import.meta.url).pathname;

let folder: string;
let tokens: () => readonly unknown[];
let url: string;

beforeAll(async () => {
  folder = useFolder();
  const server = closedLater(createSmallCluster());
  putService(server, 'web', null);
  putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.2', node: 'edge-2' }]);
  url = await server.listen();
  tokens = () => [...new Set(server.requests.map(({ headers }) => headers.authorization))];
  const asking = `#!/bin/sh
echo "$KUBERNETES_EXEC_INFO" > ${folder}/info
printf 'code: ' >&2
if [ $1 = Always ]; then read -r code < /dev/tty; else read -r code; fi
echo '{"status":{"token":"'$1'-'$code'"}}'
`;
  writeFileSync(join(folder, 'plugin.sh'), asking);
  chmodSync(join(folder, 'plugin.sh'), 0o755);
});

/** A shell command that simulates the cluster. The token has the mode and what the plugin has read. */
function simulateWith(mode: string): string {
  const interactiveMode = mode === 'absent' ? undefined : mode;
  const apiVersion = 'client.authentication.k8s.io/v1';
  const exec = { apiVersion, command: './plugin.sh', args: [mode], interactiveMode };
  const cluster = { server: url, 'insecure-skip-tls-verify': true };
  const kubeconfig = writeKubeconfig(folder, cluster, { exec }, mode);
  return `${process.execPath} ${MAIN} simulate --kubeconfig ${kubeconfig}`;
}

function start(command: string, args: readonly string[]) {
  const child = spawn(command, args, { stdio: 'pipe' });
  closedLater({ close: () => child.kill('SIGKILL') });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk;
    });
  }
  return { child, printed: () => printed, closed: once(child, 'close') };
}

const told = () => JSON.parse(readFileSync(join(folder, 'info'), 'utf8')).spec;

describe('a credential plugin of a command', () => {
  // That of Always opens the terminal by itself.
  test.each(['absent', 'Always'])(
    'at a terminal asks the user, interactiveMode %s',
    async (mode) => {
      // script(1) gives the command a terminal.
      const { child, printed, closed } = start('script', ['-qec', simulateWith(mode), '/dev/null']);
      await eventually(() => printed().includes('code: '), true);
      child.stdin.write('123456\n');
      expect(await closed).toEqual([0, null]);
      expect(tokens()).toContain(`Bearer ${mode}-123456`);
      expect(told()).toEqual({ interactive: true });
    },
  );

  test('with interactiveMode Never gets no input', async () => {
    const { printed, closed } = start('script', ['-qec', simulateWith('Never'), '/dev/null']);
    expect(await closed).toEqual([0, null]);
    expect(printed()).toContain('code: ');
    expect(tokens()).toContain('Bearer Never-');
    expect(told()).toEqual({ interactive: false });
  });

  test('without a terminal leaves standard input to others', async () => {
    const { child, printed, closed } = start('sh', ['-c', `${simulateWith('IfAvailable')}; cat`]);
    child.stdin.end('of others\n');
    expect(await closed).toEqual([0, null]);
    expect(printed()).toMatch(/^code: .*of others\n$/s);
    expect(tokens()).toContain('Bearer IfAvailable-');
    expect(told()).toEqual({ interactive: false });
  });

  test('with interactiveMode Always does not run without a terminal', async () => {
    const { child, printed, closed } = start('sh', ['-c', simulateWith('Always')]);
    child.stdin.end();
    expect(await closed).toEqual([1, null]);
    expect(printed()).toContain(
      'its credential plugin needs a terminal (interactiveMode: Always), and standard input is none',
    );
  });
});
