import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { ensureBinaries } from '../../support/binaries.ts';
import { ensureOsPackages } from '../../support/os-packages.ts';
import { runCommand } from '../../support/run-command.ts';
import { downloadPackages, resolvePackages } from './debian-packages.ts';
import { buildGuestRoot } from './guest-root.ts';

/** Paths of what QEMU boots. */
export interface GuestImage {
  readonly kernel: string;
  readonly initrd: string;
}

/** The kernel for virtual machines: a third of the size of the full one, and it has all of netfilter. */
const kernelPackage = 'linux-image-cloud-amd64';

const guestPackages = [
  // dash, for the shell of busybox would run its own ip rather than the real one.
  ...['busybox-static', 'dash', 'kmod', 'iproute2'],
  ...['iptables', 'ipset', 'ipvsadm', 'conntrack'],
];

const scripts = resolve(import.meta.dirname, '../guest');

/**
 * Makes the machine's image unless it is there, and installs QEMU if it is missing. Packages and image are kept
 * in `$KPW_CACHE/ipvs`, by default `.cache/ipvs` of the repository, the image under a name made from all that it
 * consists of. A minute at first, 4 seconds afterwards. Two processes may call it at a time.
 *
 * @param report gets a line for each step that takes time.
 */
export async function ensureGuestImage(
  report: (line: string) => void = () => {},
): Promise<GuestImage> {
  await ensureOsPackages({ 'qemu-system-x86_64': 'qemu-system-x86', 'dpkg-deb': 'dpkg' });
  const cache = resolve(process.env.KPW_CACHE ?? join(scripts, '../../../../.cache'), 'ipvs');
  mkdirSync(cache, { recursive: true });
  const kubeProxy = (await ensureBinaries()).kubeProxy['1.36.3'];
  const [tools, kernels] = await Promise.all([
    resolvePackages(guestPackages),
    resolvePackages([kernelPackage]),
  ]);
  const packages = [...tools, ...kernels.filter(({ name }) => /^linux-image-\d/.test(name))];
  const stamp = stampOf([JSON.stringify(packages), readFileSync(`${kubeProxy}.stamp`, 'utf8')]);
  const folder = join(cache, `image-${stamp}`);
  const image = { kernel: join(folder, 'vmlinuz'), initrd: join(folder, 'initrd') };
  if (existsSync(folder)) return image;
  report(`downloading ${packages.length} packages for the IPVS machine`);
  const debs = await downloadPackages(packages, join(cache, 'packages'));
  report('building the image of the IPVS machine');
  // Made aside and renamed, so that nobody ever boots half an image.
  const aside = mkdtempSync(join(cache, 'build-'));
  try {
    const root = join(aside, 'root');
    mkdirSync(root);
    const made = join(aside, 'image');
    mkdirSync(made);
    const options = { debs, scripts, kubeProxy };
    const kernel = await buildGuestRoot(root, join(made, 'initrd'), options);
    await runCommand('mv', [kernel, join(made, 'vmlinuz')]);
    if (!existsSync(folder)) renameSync(made, folder);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  return image;
}

/** Changes when the image would: with its packages, its kube-proxy, its scripts and how it is put together. */
function stampOf(parts: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(parts));
  for (const name of readdirSync(scripts).sort()) hash.update(readFileSync(join(scripts, name)));
  for (const name of ['guest-root.ts', 'kernel-modules.ts']) {
    hash.update(readFileSync(join(import.meta.dirname, name)));
  }
  return hash.digest('hex').slice(0, 16);
}
