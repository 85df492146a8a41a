import { join } from 'node:path';
import { freePorts } from './free-port.ts';
import { getStatus } from './http-status.ts';
import { type ManagedProcess, startProcess, waitUntilReady } from './managed-process.ts';

/** An etcd of one member, on loopback, with its data below `folder`. */
export interface Etcd {
  readonly process: ManagedProcess;
  readonly url: string;
}

export async function startEtcd(binary: string, folder: string): Promise<Etcd> {
  const [client = 0, peer = 0] = await freePorts(2);
  const url = `http://127.0.0.1:${client}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  const args = ['--name', 'test', '--data-dir', join(folder, 'etcd'), '--log-level', 'warn'];
  args.push('--listen-client-urls', url, '--advertise-client-urls', url);
  args.push('--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl);
  // Tests do not survive a power cut anyway, and without fsync they start a second earlier.
  args.push('--initial-cluster', `test=${peerUrl}`, '--unsafe-no-fsync');
  const process = startProcess({
    name: 'etcd',
    command: binary,
    args,
    logFile: join(folder, 'etcd.log'),
  });
  await waitUntilReady(process, async () => (await getStatus(`${url}/health`)) === 200);
  return { process, url };
}
