import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, test } from '@jest/globals';
import { kubeconfigFor } from '../../fake-apiserver/kubeconfig.ts';
import { writeKubeconfig } from '../support/http/kubeconfig.ts';
import { useProcess } from '../support/process/use-process.ts';
import type { WrapperProcess } from '../support/process/wrapper-process.ts';
import { useFastFolder, useFolder } from '../support/use-folder.ts';
import { PATHS } from '../support/wrapper/state-fixture.ts';
import { useCluster } from '../support/wrapper/use.ts';

let folder: string;

beforeEach(() => {
  folder = useFolder();
});

/** Creates a file that blocks its reader, like one on a disk that does not respond. */
function makeHanging(path: string): void {
  expect(spawnSync('mkfifo', [path]).status).toBe(0);
}

/** Waits until a process has opened such a file. Returns a function that releases the process. */
async function opened(path: string): Promise<() => void> {
  for (;;) {
    try {
      const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
      return () => closeSync(fd);
    } catch {
      await delay(20);
    }
  }
}

// Node.js waits for threads that read a file, also in process.exit().
test('a signal ends the process while it waits for its kubeconfig', async () => {
  const kubeconfig = join(folder, 'kubeconfig');
  makeHanging(kubeconfig);
  const { child } = useProcess(kubeconfig);
  const release = await opened(kubeconfig);
  child.kill('SIGTERM');
  expect(await once(child, 'close')).toEqual([0, null]);
  release();
});

test('the process ends although a plugin of the kubeconfig hangs', async () => {
  const hanging = join(folder, 'hanging');
  makeHanging(hanging);
  const apiVersion = 'client.authentication.k8s.io/v1';
  const expired = { token: 't', expirationTimestamp: '2020-01-01T00:00:00Z' };
  const credential = JSON.stringify({ apiVersion, kind: 'ExecCredential', status: expired });
  // It responds once, so that the wrapper starts.
  const script = `mkdir ${folder}/asked 2>/dev/null || exec cat ${hanging}; echo '${credential}'`;
  const exec = { apiVersion, command: '/bin/sh', args: ['-c', script] };
  const kubeconfig = writeKubeconfig(folder, { server: 'https://127.0.0.1:1' }, { exec });
  const { child, logged } = useProcess(kubeconfig);
  await logged('listening');
  const release = await opened(hanging);
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  expect(await closed).toEqual([0, null]);
  release();
});

test('the process serves and ends although the disk hangs', async () => {
  const server = useCluster();
  const kubeconfig = join(folder, 'kubeconfig');
  const url = await server.listen();
  writeFileSync(kubeconfig, kubeconfigFor(url.replace('127.0.0.1', 'localhost')));
  const state = join(useFastFolder(), 'state');
  const readAll = async (wrapper: WrapperProcess): Promise<Set<number>> => {
    const { listen } = await wrapper.logged('listening');
    const paths = [...Object.values(PATHS), '/api/v1/endpoints'];
    const answers = await Promise.all(paths.map((path) => fetch(`${listen}${path}`)));
    return new Set(answers.map(({ status }) => status));
  };
  const first = useProcess(kubeconfig, '--state-dir', state);
  expect(await readAll(first)).toEqual(new Set([200]));
  expect(await first.stop()).toBe(0);
  const files = readdirSync(state).map((name) => join(state, name));
  // More files than libuv has threads: a blocked thread cannot read other files or resolve names.
  expect(files.length).toBeGreaterThan(4);
  for (const file of files) {
    rmSync(file);
    makeHanging(file);
  }
  const second = useProcess(kubeconfig, '--state-dir', state);
  const release = await opened(files.find((file) => file.includes('nodes-')) ?? '');
  expect(await readAll(second)).toEqual(new Set([200]));
  const closed = once(second.child, 'close');
  second.child.kill('SIGTERM');
  expect(await closed).toEqual([0, null]);
  release();
});
