import { copyFileSync, cpSync, mkdirSync, readdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../process/run-command.ts';

/** What the machine's file system is made of. */
export interface GuestRootOptions {
  /** Packages: kernel, busybox, tools and their libraries. */
  readonly debs: readonly string[];
  /** Folder with the machine's own scripts. */
  readonly scripts: string;
  readonly kubeProxy: string;
}

/**
 * Unpacks the machine's file system into the empty folder `root`, and packs what it needs of it into `initrd`.
 * Needs root: the tools of the new system do the work, in a chroot.
 *
 * @returns path of the kernel.
 */
export async function buildGuestRoot(
  root: string,
  initrd: string,
  options: GuestRootOptions,
): Promise<string> {
  layOut(root);
  for (const deb of options.debs) await unpack(deb, root);
  for (const name of ['boot.sh', 'inittab']) {
    copyFileSync(join(options.scripts, name), join(root, 'etc', name));
  }
  cpSync(options.kubeProxy, join(root, 'usr/bin/kube-proxy'));
  // The kernel starts /init, and busybox is what it is called.
  symlinkSync('/bin/busybox', join(root, 'init'));
  await linkApplets(root);

  const version = readdirSync(join(root, 'usr/lib/modules'))[0] ?? '';
  await runCommand('chroot', [root, '/sbin/depmod', '-a', version]);
  await pack(root, initrd);
  return join(root, 'boot', `vmlinuz-${version}`);
}

/** As dpkg-deb --extract, which would put folders in the place of our links. */
async function unpack(deb: string, root: string): Promise<void> {
  const command = 'dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --keep-directory-symlink';
  await runCommand('bash', ['-o', 'pipefail', '-c', command, 'unpack', deb, root]);
}

/** The folders, with /bin, /lib and /sbin as links, as in any Debian of today. */
function layOut(root: string): void {
  const folders = ['usr/bin', 'usr/sbin', 'usr/lib', 'usr/lib64', 'usr/local/bin', 'etc'];
  for (const folder of [...folders, 'dev', 'proc', 'sys', 'run', 'tmp', 'var']) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  for (const folder of ['bin', 'sbin', 'lib', 'lib64']) {
    symlinkSync(`usr/${folder}`, join(root, folder));
  }
}

/** A link for each command of busybox that no package brings in full. */
async function linkApplets(root: string): Promise<void> {
  const list = await runCommand('chroot', [root, '/bin/busybox', '--list-full']);
  const present = new Set(['bin', 'sbin'].flatMap((folder) => readdirSync(join(root, folder))));
  for (const path of list.trim().split('\n')) {
    const name = path.split('/').at(-1) ?? '';
    if (!present.has(name)) symlinkSync('/bin/busybox', join(root, 'usr/bin', name));
  }
}

/**
 * What is there twice (the listing follows links), or only takes time to load. Modules are chosen by {@link module}.
 */
const left = /^(s?bin|lib|lib64|boot|usr\/share)\/|\/gconv\//;

/**
 * The kernel's modules that a node with kube-proxy in IPVS mode needs, and whole folders of those that they depend on.
 */
const module =
  /\/kernel\/(net|lib|crypto|drivers\/(virtio|net\/(dummy|veth|virtio_net|net_failover)\.ko))/;

async function pack(root: string, initrd: string): Promise<void> {
  const paths = (readdirSync(root, { recursive: true }) as string[]).sort();
  const chosen = paths.filter(
    (path) => !left.test(path) && (!path.endsWith('.ko') || module.test(path)),
  );
  const command = 'exec /bin/busybox cpio -o -H newc > /initrd';
  await runCommand('chroot', [root, '/bin/busybox', 'sh', '-c', command], {
    input: `${chosen.join('\n')}\n`,
  });
  renameSync(join(root, 'initrd'), initrd);
}
