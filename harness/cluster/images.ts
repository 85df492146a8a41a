import { cpSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { layOutImage } from '../deploy/image.ts';
import { readText } from '../deploy/repository.ts';
import { KUBERNETES } from '../process/binaries.ts';
import { runCommand } from '../process/run-command.ts';
import { searchPath } from '../process/search-path.ts';
import type { ClusterBinaries } from './binaries.ts';
import { type ImageOptions, writeImage } from './write-image.ts';

/** Image of the sandboxes and of the test servers. */
export const POD_IMAGE = 'docker.io/local/pod:1';
export const KUBE_PROXY_IMAGE = `registry.k8s.io/kube-proxy:v${KUBERNETES}`;

/** Version of the sources, which is the tag of the wrapper's image in manifests and documents. */
export const VERSION = (JSON.parse(readText('package.json')) as { version: string }).version;

/** The wrapper's image, as the manifests call it. */
export const WRAPPER_IMAGE = `registry.example.com/kube-proxy-wrapper:${VERSION}`;

/** Makes all images without a registry. Returns the paths of their tars. */
export async function makeImages(binaries: ClusterBinaries, folder: string): Promise<string[]> {
  const images = [
    podImage(binaries, folder),
    kubeProxyImage(binaries, folder),
    // Users push it to a registry of their own, which the documents call registry.example.net.
    wrapperImage(folder, 'wrapper', [WRAPPER_IMAGE, WRAPPER_IMAGE.replace('.com/', '.net/')]),
  ];
  return await Promise.all(images);
}

async function podImage(binaries: ClusterBinaries, folder: string): Promise<string> {
  const root = join(folder, 'pod');
  place(binaries.podProgram, join(root, 'pod'));
  const path = `${root}.tar`;
  await writeImage(path, { names: [POD_IMAGE], root, entrypoint: ['/pod'], cmd: ['pause'] });
  return path;
}

/** Like the image of Kubernetes: kube-proxy at /usr/local/bin, with nft, iptables and conntrack. */
async function kubeProxyImage(binaries: ClusterBinaries, folder: string): Promise<string> {
  const root = join(folder, 'kube-proxy');
  place(binaries.kubeProxy, join(root, 'usr/local/bin/kube-proxy'));
  await placeTools(root, ['nft', 'conntrack', 'iptables', 'ip6tables']);
  const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };
  const path = `${root}.tar`;
  await writeImage(path, { names: [KUBE_PROXY_IMAGE], root, entrypoint: [], env });
  return path;
}

/**
 * The wrapper's image, of the files that the Dockerfile copies. Its base image is stood in for by the Node that runs
 * the tests, and by the C library of this machine.
 *
 * @param change gets the folder of the files, and says in what else the image differs.
 */
export async function wrapperImage(
  folder: string,
  name: string,
  names: readonly string[],
  change: (root: string) => Promise<Partial<ImageOptions>> = async () => ({}),
): Promise<string> {
  const root = join(folder, name);
  const image = layOutImage(root);
  const node = realpathSync(process.execPath);
  place(node, join(root, 'nodejs/bin/node'));
  await placeLibraries(root, node);
  mkdirSync(join(root, 'etc'), { recursive: true });
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/sbin/nologin\n');
  mkdirSync(join(root, 'tmp'), { recursive: true });
  const path = `${root}.tar`;
  const { env, entrypoint, cmd, workdir, user } = image;
  const own = { env, entrypoint, cmd, workdir, user: `${user.uid}:${user.gid}` };
  await writeImage(path, { names, root, ...own, ...(await change(root)) });
  return path;
}

/** Puts programs of this machine, with the names iptables has for them, and their libraries. */
async function placeTools(root: string, tools: readonly string[]): Promise<void> {
  for (const tool of tools) {
    const found = searchPath()
      .split(':')
      .map((each) => join(each, tool))
      .find(existsSync);
    if (found === undefined) throw new Error(`${tool} is not installed`);
    const names = /^ip6?tables$/.test(tool) ? [tool, `${tool}-save`, `${tool}-restore`] : [tool];
    for (const name of names) place(realpathSync(found), join(root, 'usr/sbin', name));
    await placeLibraries(root, realpathSync(found));
  }
  for (const folder of ['tmp', 'run', 'etc']) mkdirSync(join(root, folder), { recursive: true });
  // Without this file nft prints the protocol of an element as a number. After a restart kube-proxy then takes the
  // elements that it still needs for leftovers, and removes them.
  writeFileSync(join(root, 'etc/protocols'), 'ip 0\nicmp 1\ntcp 6\nudp 17\nsctp 132\n');
}

async function placeLibraries(root: string, program: string): Promise<void> {
  const listed = await runCommand('ldd', [program]);
  for (const [library] of listed.matchAll(/\/\S+/g)) {
    place(realpathSync(library), join(root, library));
  }
}

function place(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}
