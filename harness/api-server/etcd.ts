import { join } from 'node:path';
import { freePorts } from '../network/free-port.ts';
import { type ManagedProcess, startProcess, waitUntilReady } from '../process/managed-process.ts';
import { getStatus } from './http-status.ts';

/** An etcd of one member, on loopback. */
export type Etcd = Awaited<ReturnType<typeof startEtcd>>;

/** Starts an etcd, with its data below `folder`, and waits until it is ready. */
export async function startEtcd(binary: string, folder: string) {
  const [client = 0, peer = 0] = await freePorts(2);
  const url = `http://127.0.0.1:${client}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  const args = etcdArgs(folder, url, peerUrl);
  const logFile = join(folder, 'etcd.log');
  let running: ManagedProcess | undefined;
  const etcd = {
    url,
    /** Starts it, with the data that it had. */
    start: async () => {
      running = startProcess({ name: 'etcd', command: binary, args, logFile });
      await waitUntilReady(running, async () => (await getStatus(`${url}/health`)) === 200);
    },
    stop: async (signal?: NodeJS.Signals) => await running?.stop(signal),
    /** SIGSTOP or SIGCONT, for one that hangs. */
    signal: (signal: NodeJS.Signals) => running?.child.kill(signal),
  };
  await etcd.start();
  return etcd;
}

/** Flags of an etcd of one member. */
export function etcdArgs(folder: string, url: string, peerUrl: string): string[] {
  const args = ['--name', 'test', '--data-dir', join(folder, 'etcd'), '--log-level', 'warn'];
  args.push('--listen-client-urls', url, '--advertise-client-urls', url);
  args.push('--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl);
  // Tests do not survive a power cut anyway, and without fsync they start a second earlier.
  args.push('--initial-cluster', `test=${peerUrl}`, '--unsafe-no-fsync');
  return args;
}
