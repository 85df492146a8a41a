import { join } from 'node:path';
import { type ManagedProcess, waitUntilReady } from '../../support/managed-process.ts';
import { createNodeNetns, type NodeNetns } from '../../support/node-netns.ts';
import { type GuestChannel, listenForGuest } from './guest-channel.ts';
import { ensureGuestImage, type GuestImage } from './guest-image.ts';

/** Name of the host's loopback inside the machine (boot.sh). */
export const hostLoopback = 'localhost';

/** A virtual machine with a kernel that has IPVS, whatever the host's kernel has. */
export type Machine = ReturnType<typeof describeMachine>;

/** Boots a machine, in about 5 seconds, emulated in software: there is no KVM where CI runs. */
export async function startMachine() {
  const image = await ensureGuestImage();
  const netns = await createNodeNetns();
  let channel: GuestChannel | undefined;
  let qemu: ManagedProcess | undefined;
  const stop = async () => {
    // It has no disk that could be harmed.
    await qemu?.stop('SIGKILL');
    channel?.close();
    await netns.stop();
  };
  try {
    const socketPath = join(netns.folder, 'machine.sock');
    channel = await listenForGuest(socketPath);
    qemu = netns.spawn({
      name: 'qemu',
      command: 'qemu-system-x86_64',
      args: qemuArgs(image, socketPath),
      logFile: join(netns.folder, 'machine-console.log'),
    });
    let isUp = false;
    void channel.ready.then(() => {
      isUp = true;
    });
    await waitUntilReady(qemu, async () => isUp, 240_000);
    return describeMachine(netns, qemu, channel, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

function qemuArgs({ kernel, initrd }: GuestImage, socketPath: string): string[] {
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
    'user,id=net',
    '-device',
    'virtio-net-pci,netdev=net,romfile=',
    '-chardev',
    `socket,id=agent,path=${socketPath}`,
    '-device',
    'virtio-serial-pci',
    '-device',
    'virtserialport,chardev=agent,name=agent',
  ];
}

function describeMachine(
  netns: NodeNetns,
  qemu: ManagedProcess,
  channel: GuestChannel,
  stop: () => Promise<void>,
) {
  const exec = async (command: string) => {
    const ending = qemu.ending();
    if (ending !== undefined) {
      throw new Error(`the machine ended (${ending}); its console:\n${qemu.log().slice(-4000)}`);
    }
    const { code, stdout, stderr } = await channel.run(command);
    if (code === 0) return stdout;
    const console = qemu.log().slice(-1000);
    throw new Error(`${command}: ended with ${code}: ${stderr.slice(-2000)}\nconsole: ${console}`);
  };
  return {
    /** Where QEMU runs. What listens on its loopback is reached from inside the machine at {@link hostLoopback}. */
    netns,
    /** Runs a command of the shell inside and returns its stdout. Throws if it fails, or takes more than 20 seconds. */
    exec,
    /** The same in one of the machine's own network namespaces. */
    execIn: async (namespace: string, command: string) =>
      await exec(`ip netns exec ${namespace} sh -c ${quote(command)}`),
    /** Writes a file inside. */
    writeFile: async (path: string, text: string) => {
      const encoded = Buffer.from(text).toString('base64');
      await exec(`echo ${encoded} | base64 -d > ${path}`);
    },
    /** Turns it off. */
    stop,
  };
}

/** For the shell, as one word. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
