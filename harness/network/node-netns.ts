import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ManagedProcess,
  type ProcessOptions,
  startProcess,
  waitUntilReady,
} from '../process/managed-process.ts';
import { ensureOsPackages } from '../process/os-packages.ts';
import { runCommand } from '../process/run-command.ts';
import { withCleanups } from '../with-cleanups.ts';
import { type AskAgent, createAgentClient } from './agent-client.ts';
import { gatewayAddress, nodeAddress, nodeNumbers } from './node-addresses.ts';

/** A network namespace that plays a node, with a veth to the host. */
export type NodeNetns = ReturnType<typeof describeNetns> & { stop(): Promise<void> };

/** Makes a namespace of its own name and addresses. Needs root. */
export async function createNodeNetns(): Promise<NodeNetns> {
  await ensureOsPackages();
  await sweepDeadNamespaces();
  return await withCleanups(async (cleanups) => {
    const number = await reserveNumber();
    cleanups.defer(() => removeNamespace(number));
    const name = namespaceName(number);
    const folder = await mkdtemp(join(tmpdir(), `${name}-`));
    cleanups.defer(() => rm(folder, { recursive: true, force: true }));
    await connectToHost(number);
    const agent = startAgent(name, folder);
    cleanups.defer(() => agent.stop('SIGKILL'));
    const ask = createAgentClient(agent);
    await waitUntilReady(
      agent,
      async () => (await ask({ op: 'dial', target: '', count: 0, timeoutMs: 0 })) !== undefined,
    );
    return describeNetns({ number, folder, ask });
  });
}

function namespaceName(number: number): string {
  return `kpw${number}`;
}

function vethName(number: number): string {
  return `kpwh${number}`;
}

function hasVeth(number: number): boolean {
  return existsSync(`/sys/class/net/${vethName(number)}`);
}

/**
 * The veth goes first: with the namespace it would go too, but some time later, and a test that takes
 * the number next would find it still there.
 */
async function removeNamespace(number: number): Promise<void> {
  if (hasVeth(number)) await runCommand('ip', ['link', 'delete', vethName(number)]);
  await runCommand('ip', ['netns', 'delete', namespaceName(number)]);
}

/** Making the namespace fails if there is one of that name: so this is the lock, too. */
async function reserveNumber(): Promise<number> {
  const first = process.pid % nodeNumbers.length;
  for (const number of [...nodeNumbers.slice(first), ...nodeNumbers.slice(0, first)]) {
    if (existsSync(`/run/netns/${namespaceName(number)}`) || hasVeth(number)) continue;
    try {
      await runCommand('ip', ['netns', 'add', namespaceName(number)]);
      return number;
    } catch (error) {
      // Somebody else was faster; any other trouble shows itself when no number is left.
      if (number === nodeNumbers[first - 1]) throw error;
    }
  }
  throw new Error('no number for a namespace is left');
}

async function connectToHost(number: number): Promise<void> {
  const name = namespaceName(number);
  const veth = vethName(number);
  const host = [
    `link add ${veth} type veth peer name eth0 netns ${name}`,
    `link set ${veth} alias kpw-pid-${process.pid}`,
    `addr add ${gatewayAddress(number)}/24 dev ${veth}`,
    `link set ${veth} up`,
  ];
  const inside = [
    'link set lo up',
    `addr add ${nodeAddress(number)}/24 dev eth0`,
    'link set eth0 up',
    `route add default via ${gatewayAddress(number)}`,
  ];
  await runCommand('ip', ['-batch', '-'], { input: `${host.join('\n')}\n` });
  await runCommand('ip', ['-n', name, '-batch', '-'], { input: `${inside.join('\n')}\n` });
}

/** Removes what test runs left that were killed: namespaces whose maker is gone. */
async function sweepDeadNamespaces(): Promise<void> {
  for (const number of nodeNumbers) {
    const aliasFile = `/sys/class/net/${vethName(number)}/ifalias`;
    if (!existsSync(aliasFile)) continue;
    const pid = /^kpw-pid-(\d+)$/.exec(readFileSync(aliasFile, 'utf8').trim())?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    // Another test process may be sweeping too.
    await removeNamespace(number).catch(() => {});
  }
}

function startAgent(name: string, folder: string): ManagedProcess {
  return startProcess({
    name: `agent in ${name}`,
    command: 'ip',
    args: ['netns', 'exec', name, process.execPath, join(import.meta.dirname, 'netns-agent.ts')],
    logFile: join(folder, 'agent.log'),
    piped: true,
  });
}

interface NetnsParts {
  readonly number: number;
  readonly folder: string;
  readonly ask: AskAgent;
}

function describeNetns(parts: NetnsParts) {
  const { number, folder, ask } = parts;
  const name = namespaceName(number);
  return {
    /** Name for `ip netns exec`. */
    name,
    /** The node's own address, inside. */
    address: nodeAddress(number),
    /** The host's end of the veth: what listens on the host is reached here from inside. */
    hostAddress: gatewayAddress(number),
    /** Folder for logs and files; removed by stop. */
    folder,
    /** See netns-agent.ts. */
    ask,
    /** Runs a command inside to its end and returns its stdout. */
    exec: async (command: string, args: readonly string[], input = '') =>
      await runCommand('ip', ['netns', 'exec', name, command, ...args], { input }),
    /** Starts a process inside. The caller stops it. */
    spawn: (options: ProcessOptions) =>
      startProcess({
        ...options,
        command: 'ip',
        args: ['netns', 'exec', name, options.command, ...options.args],
      }),
    /** Gives the namespace these `ip:port` (`[ip]:port`) and answers there, by TCP and UDP, with the very same text. */
    addEndpoints: async (endpoints: readonly string[]) => {
      for (const endpoint of endpoints) {
        const [, v6, v4] = /^(?:\[(.*)\]|(.*)):\d+$/.exec(endpoint) ?? [];
        // Duplicate address detection would keep an IPv6 address from being used for a second.
        const [address, ...flags] = v6 === undefined ? [`${v4}/32`] : [`${v6}/128`, 'nodad'];
        await runCommand('ip', ['-n', name, 'addr', 'replace', address, 'dev', 'lo', ...flags]);
        await ask({ op: 'listen', endpoint });
      }
    },
    /**
     * Connects so many times to `target` (`ip:port`, such as a cluster IP) from inside, 16 at a time, and counts who
     * answers: an endpoint's `ip:port`, `refused`, `timeout` or an errno. By default each connection has 5 s, in which
     * the kernel tries a lost SYN again (after 1 and 3 s): it sends only so many refusals a second
     * (net.ipv4.icmp_msgs_per_sec).
     */
    dial: async (target: string, count = 40, timeoutMs = 5_000) =>
      (await ask({ op: 'dial', target, count, timeoutMs })) as Readonly<Record<string, number>>,
    /** Sends a datagram to `target` from this port inside; returns what `dial` would count. */
    datagram: async (target: string, fromPort: number) =>
      (await ask({ op: 'datagram', target, fromPort, timeoutMs: 1_000 })) as string,
    /** GET inside; undefined when nothing answers in 10 seconds. */
    httpGet: async (url: string) => await httpGet(ask, url),
    /**
     * Passes connections from one `ip:port`, or Unix socket, on to another, so that they can be cut, or come from
     * another namespace. They wait while nobody listens there; see tcp-front.ts.
     */
    relay: async (endpoint: string, target: string) =>
      void (await ask({ op: 'relay', endpoint, target })),
    /** Takes the veth down: what is sent vanishes, and connections stay half open. */
    cut: async () => void (await runCommand('ip', ['link', 'set', vethName(number), 'down'])),
    /** Undoes `cut`. */
    reconnect: async () => void (await runCommand('ip', ['link', 'set', vethName(number), 'up'])),
  };
}

async function httpGet(
  ask: AskAgent,
  url: string,
): Promise<{ status: number; body: string } | undefined> {
  try {
    return (await ask({ op: 'http', url, timeoutMs: 10_000 })) as { status: number; body: string };
  } catch {
    return undefined;
  }
}
