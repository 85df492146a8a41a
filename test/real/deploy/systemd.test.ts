import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { writeKubeconfig } from '../../../harness/api-server/kubeconfig.ts';
import { readText, repository } from '../../../harness/deploy/repository.ts';
import { createNodeNetns } from '../../../harness/network/node-netns.ts';
import { waitUntilReady } from '../../../harness/process/managed-process.ts';
import { ensureOsPackages } from '../../../harness/process/os-packages.ts';
import { runCommand } from '../../../harness/process/run-command.ts';
import { useFolder } from '../../support/use-folder.ts';

const unit = 'kube-proxy-wrapper.service';
let folder: string;

beforeAll(async () => {
  await ensureOsPackages({ 'systemd-analyze': 'systemd' });
  folder = useFolder();
  // Into a folder of their own: systemd-analyze looks for further units beside them.
  cpSync(join(repository, 'manifests/systemd'), folder, { recursive: true });
});

test('systemd understands every line of the unit', async () => {
  const files = [join(folder, unit)];
  // It exits with 0 even if it ignores a line. Then it reports the line on stderr.
  const script = 'systemd-analyze verify --man=no "$@" 2>&1';
  const said = await runCommand('sh', ['-c', script, 'sh', ...files]);
  expect(said.split('\n').filter((line) => line.includes(folder))).toEqual([]);
});

test('the service has almost no rights', async () => {
  const args = ['security', '--offline=true', '--threshold=15', join(folder, unit)];
  expect(await runCommand('systemd-analyze', args)).toMatch(
    /Overall exposure level .*: [01]\.\d OK/,
  );
});

test('the command of the service starts', async () => {
  const line = /^ExecStart=\/usr\/bin\/env kube-proxy-wrapper (.*)$/m.exec(
    readText(`manifests/systemd/${unit}`),
  )?.[1];
  expect(line).toBeDefined();
  mkdirSync(join(folder, 'credentials'));
  writeKubeconfig(join(folder, 'credentials/kubeconfig'), {
    server: 'https://127.0.0.1:1',
    token: 'a',
  });
  writeFileSync(join(folder, 'config.yaml'), 'logLevel: debug\n');
  const args = (line ?? '')
    .replace('$' + '{CREDENTIALS_DIRECTORY}', join(folder, 'credentials'))
    .replace('$' + '{STATE_DIRECTORY}', join(folder, 'state'))
    .replace('/etc/kube-proxy-wrapper', folder)
    .split(' ');
  const netns = await createNodeNetns();
  const managed = netns.spawn({
    name: 'service',
    command: process.execPath,
    args: [join(repository, 'dist/main.js'), ...args],
    env: { NODE_NAME: 'a' },
    logFile: join(folder, 'log'),
  });
  try {
    const url = 'http://127.0.0.1:10361/healthz';
    await waitUntilReady(managed, async () => (await netns.httpGet(url))?.status === 200);
  } finally {
    await managed.stop('SIGKILL');
    await netns.stop();
  }
});

// With ProcSubset=pid the wrapper cannot find out whether another process listens at its addresses.
test('the service can read /proc/net/tcp', () => {
  const unit = readText('manifests/systemd/kube-proxy-wrapper.service');
  expect(unit).not.toMatch(/^(ProcSubset=pid|InaccessiblePaths=.*\/proc)/m);
});
