import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createNodeNetns, type NodeNetns } from '../network/node-netns.ts';
import { type ManagedProcess, waitUntilReady } from '../process/managed-process.ts';
import { withCleanups } from '../with-cleanups.ts';
import { ensureGuestImage, type GuestImage } from './guest-image.ts';

/** Name of the host's loopback inside the machine (boot.sh). */
export const hostLoopback = 'localhost';

/** Where a shell of the machine takes commands (boot.sh), inside and at the address of QEMU's namespace. */
const SHELL_PORT = 7000;
/** How long a command may take, in milliseconds. */
const COMMAND_MS = 25_000;

/** A virtual machine with a kernel that has IPVS, whatever the host's kernel has. */
export type Machine = ReturnType<typeof describeMachine> & { stop(): Promise<void> };

/** Boots a machine, in about 5 seconds, emulated in software: there is no KVM where CI runs. */
export async function startMachine() {
  const image = await ensureGuestImage();
  return await withCleanups(async (cleanups) => {
    const netns = await createNodeNetns();
    cleanups.defer(() => netns.stop());
    const qemu = netns.spawn({
      name: 'qemu',
      command: 'qemu-system-x86_64',
      args: qemuArgs(image, netns.address),
      logFile: join(netns.folder, 'machine-console.log'),
    });
    // It has no disk that could be harmed.
    cleanups.defer(() => qemu.stop('SIGKILL'));
    const machine = describeMachine(netns, qemu);
    const isUp = async () =>
      qemu.log().includes('the machine takes commands') &&
      (await machine.exec('true').then(
        () => true,
        () => false,
      ));
    await waitUntilReady(qemu, isUp, 240_000);
    return machine;
  });
}

function qemuArgs({ kernel, initrd }: GuestImage, address: string): string[] {
  const append = [
    // A panic ends QEMU, with no-reboot.
    'console=ttyS0',
    'loglevel=5',
    'panic=-1',
    // kube-proxy has half as much to do.
    'ipv6.disable=1',
    // QEMU translates code for the address that it runs at. If addresses change, it translates libc again for
    // each process, of which kube-proxy starts dozens. A process starts in 6 ms in place of 36.
    'norandmaps',
    'mitigations=off',
    'apparmor=0',
    'audit=0',
  ].join(' ');
  return [
    '-machine',
    'pc',
    '-accel',
    'tcg,thread=multi',
    '-smp',
    '2',
    '-m',
    '1024',
    '-nodefaults',
    '-no-user-config',
    '-display',
    'none',
    '-no-reboot',
    '-serial',
    'stdio',
    '-kernel',
    kernel,
    '-initrd',
    initrd,
    '-append',
    append,
    '-netdev',
    `user,id=net,hostfwd=tcp:${address}:${SHELL_PORT}-:${SHELL_PORT}`,
    '-device',
    'virtio-net-pci,netdev=net,romfile=',
  ];
}

function describeMachine(netns: NodeNetns, qemu: ManagedProcess) {
  const exec = async (command: string) => {
    const ending = qemu.ending();
    if (ending !== undefined) {
      throw new Error(`the machine ended (${ending}); its console:\n${qemu.log().slice(-4000)}`);
    }
    const socket = connect(SHELL_PORT, netns.address);
    const late = new Error(`the machine gave no answer in ${COMMAND_MS} ms to: ${command}`);
    socket.setTimeout(COMMAND_MS, () => socket.destroy(late));
    socket.end(`{ ${command}\n} </dev/null 2>&1\necho "ended with $?"\n`);
    const [, output = '', code] = /^(.*)ended with (\d+)\n$/s.exec(await text(socket)) ?? [];
    if (code === '0') return output;
    const console = qemu.log().slice(-1000);
    throw new Error(`${command}: ended with ${code}: ${output.slice(-2000)}\nconsole: ${console}`);
  };
  return {
    /** Where QEMU runs. What listens on its loopback is reached from inside the machine at {@link hostLoopback}. */
    netns,
    /** Runs a command of the shell inside and returns its stdout. Throws if it fails, or takes too long. */
    exec,
    /** The same in one of the machine's own network namespaces. */
    execIn: async (namespace: string, command: string) =>
      await exec(`ip netns exec ${namespace} sh -c ${quote(command)}`),
    /** Writes a file inside. */
    writeFile: async (path: string, text: string) => {
      const encoded = Buffer.from(text).toString('base64');
      await exec(`echo ${encoded} | base64 -d > ${path}`);
    },
  };
}

/** For the shell, as one word. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
