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
import { downloadPackages, resolvePackages, updatePackageLists } from './debian-packages.ts';
import { buildGuestRoot, type GuestRootOptions } from './guest-root.ts';

/** Paths of what QEMU boots. */
export interface GuestImage {
  readonly kernel: string;
  readonly initrd: string;
}

/** The kernel for virtual machines: a third of the size of the full one, and it has all of netfilter. */
const kernelPackage = 'linux-image-cloud-amd64';

const guestPackages = [
  // dash, because the shell of busybox would run its own ip instead of the real one.
  'busybox-static',
  'dash',
  'kmod',
  'iproute2',
  'iptables',
  'ipset',
  'ipvsadm',
  'conntrack',
];

const scripts = resolve(import.meta.dirname, '../guest');

/**
 * Makes the machine's image unless it is there, and installs QEMU if it is missing. Packages and image are kept
 * in `$KPW_CACHE/ipvs`, by default `.cache/ipvs` of the repository, the image under a name made from all that it
 * consists of. 20 seconds at first, 2 afterwards. Two processes may call it at a time.
 *
 * @param report gets a line for each step that takes time.
 */
export async function ensureGuestImage(
  report: (line: string) => void = () => {},
): Promise<GuestImage> {
  await ensureOsPackages({ 'qemu-system-x86_64': 'qemu-system-x86', 'dpkg-deb': 'dpkg' });
  const kubeProxy = (await ensureBinaries()).kubeProxy['1.36.3'];
  try {
    return await ensureImage(kubeProxy, report);
  } catch {
    // If apt's lists were not the cause, it fails again with the reason.
    await updatePackageLists();
    return await ensureImage(kubeProxy, report);
  }
}

async function ensureImage(kubeProxy: string, report: (line: string) => void): Promise<GuestImage> {
  const [tools, kernels] = await Promise.all([
    resolvePackages(guestPackages),
    resolvePackages([kernelPackage]),
  ]);
  const packages = [...tools, ...kernels.filter(({ name }) => /^linux-image-\d/.test(name))];
  const cache = resolve(process.env.KPW_CACHE ?? join(scripts, '../../../../.cache'), 'ipvs');
  const stamp = stampOf([JSON.stringify(packages), readFileSync(`${kubeProxy}.stamp`, 'utf8')]);
  const folder = join(cache, `image-${stamp}`);
  const image = { kernel: join(folder, 'vmlinuz'), initrd: join(folder, 'initrd') };
  if (existsSync(folder)) return image;
  report(`downloading ${packages.length} packages for the IPVS machine, unless they are there`);
  const debs = await downloadPackages(packages, join(cache, 'packages'));
  report('building the image of the IPVS machine');
  await buildImage(folder, { debs, scripts, kubeProxy });
  return image;
}

/** Made aside and renamed, so that nobody ever boots half an image. */
async function buildImage(folder: string, options: GuestRootOptions): Promise<void> {
  const aside = mkdtempSync(`${folder}-`);
  try {
    const root = join(aside, 'root');
    const made = join(aside, 'image');
    mkdirSync(root);
    mkdirSync(made);
    const kernel = await buildGuestRoot(root, join(made, 'initrd'), options);
    renameSync(kernel, join(made, 'vmlinuz'));
    if (!existsSync(folder)) renameSync(made, folder);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
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
