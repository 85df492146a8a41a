import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { ensureBinaries } from '../process/binaries.ts';
import { ensureOsPackages, runAptGet } from '../process/os-packages.ts';
import { buildGuestRoot } from './guest-root.ts';

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
  'nftables',
  'conntrack',
];

const scripts = resolve(import.meta.dirname, './guest');

/**
 * Makes the machine's image unless it is there, and installs QEMU if it is missing. It is kept in `$KPW_CACHE/ipvs`, by
 * default `.cache/ipvs` of the repository, under a name made from its kube-proxy and our sources. Takes 40 seconds at
 * first. Two processes may call it at a time.
 *
 * @param report gets a line before it takes time.
 */
export async function ensureGuestImage(
  report: (line: string) => void = () => {},
): Promise<GuestImage> {
  await ensureOsPackages({ 'qemu-system-x86_64': 'qemu-system-x86', 'dpkg-deb': 'dpkg' });
  const kubeProxy = (await ensureBinaries()).kubeProxy;
  const cache = resolve(process.env.KPW_CACHE ?? join(scripts, '../../../.cache'), 'ipvs');
  const sources = globSync(join(import.meta.dirname, 'guest-*.ts'));
  const files = [`${kubeProxy}.stamp`, ...readdirSync(scripts).map((name) => join(scripts, name))];
  const hash = createHash('sha256');
  for (const file of [...files, ...sources].sort()) hash.update(readFileSync(file));
  const folder = join(cache, `image-${hash.digest('hex').slice(0, 16)}`);
  const image = { kernel: join(folder, 'vmlinuz'), initrd: join(folder, 'initrd') };
  if (!existsSync(folder)) {
    report('building the image of the IPVS machine');
    mkdirSync(cache, { recursive: true });
    await buildImage(folder, kubeProxy);
  }
  return image;
}

/** Made aside and renamed, so that nobody ever boots half an image. */
async function buildImage(folder: string, kubeProxy: string): Promise<void> {
  const aside = mkdtempSync(`${folder}-`);
  try {
    const tools = await download(guestPackages, join(aside, 'tools'));
    // Of all that it depends on nothing is needed.
    const kernels = await download([kernelPackage], join(aside, 'kernel'));
    const debs = [...tools, ...kernels.filter((path) => /\/linux-image-\d/.test(path))];
    const [root, made] = [join(aside, 'root'), join(aside, 'image')];
    mkdirSync(root);
    mkdirSync(made);
    const kernel = await buildGuestRoot(root, join(made, 'initrd'), { debs, scripts, kubeProxy });
    renameSync(kernel, join(made, 'vmlinuz'));
    if (!existsSync(folder)) renameSync(made, folder);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/** Downloads these packages and all that they depend on, as on an empty system. Returns their paths. */
async function download(packages: readonly string[], folder: string): Promise<string[]> {
  mkdirSync(join(folder, 'partial'), { recursive: true });
  const options = [
    `Dir::Cache::archives=${folder}`,
    // Nothing counts as installed, so the answer is the same on every machine.
    'Dir::State::status=/dev/null',
    // The sandbox user of apt may not write there.
    'APT::Sandbox::User=root',
  ];
  const args = ['install', '-y', '-qq', '--download-only', '--no-install-recommends'];
  args.push(...options.flatMap((option) => ['-o', option]), ...packages);
  try {
    await runAptGet(args);
  } catch {
    // If apt's lists were not the cause, it fails again with the reason.
    await runAptGet(['update', '-qq']);
    await runAptGet(args);
  }
  return globSync(join(folder, '*.deb')).sort();
}
