import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../../e2e/support/api.ts';
import { type ManagedProcess, waitUntilReady } from '../../e2e/support/managed-process.ts';
import type { NodeNetns } from '../../e2e/support/node-netns.ts';
import type { Image } from './image.ts';
import { runWithChownAlone } from './init-container.ts';
import { only } from './render.ts';
import { sandbox } from './sandbox.ts';

/** What kubelet has when it starts a Pod of a DaemonSet. */
export interface PodOptions {
  /** Name for logs and folders. */
  readonly name: string;
  /** The rendered manifests: a DaemonSet, and the ConfigMaps it refers to. */
  readonly objects: readonly KubeObject[];
  readonly image: Image;
  readonly nodeName: string;
  /** The node. */
  readonly netns: NodeNetns;
  /** The ServiceAccount's token and the cluster's authority. */
  readonly token: string;
  readonly ca: string;
  /** Flags on top of those of the manifest. */
  readonly extraArgs?: readonly string[];
}

/** A Pod that runs. */
export interface Pod {
  readonly process: ManagedProcess;
  /** HTTP status that a probe of the manifest gets; undefined if nobody answers. */
  probe(name: 'livenessProbe' | 'readinessProbe'): Promise<number | undefined>;
  /** Sends SIGTERM to the program itself, as kubelet does; the sandbox around it ends with it. */
  terminate(): void;
}

/** Does what kubelet does for the Pod of a DaemonSet, as far as our manifests ask for it. */
export async function startPod(options: PodOptions): Promise<Pod> {
  const { name, image, netns } = options;
  const { spec } = only(options.objects, 'DaemonSet').spec.template;
  const [container] = spec.containers;
  assertRestricted(spec, container);
  const env = environmentOf(container, options);
  const args = (container.args as string[]).map((arg) =>
    arg.replaceAll(/\$\((\w+)\)/g, (_, variable: string) => env[variable] ?? ''),
  );
  const writable = hostFolders(spec, container, options);
  await runInitContainers(spec, options);
  const running = netns.spawn({
    name,
    logFile: join(netns.folder, `${name}.log`),
    ...sandbox({
      image,
      env,
      args: [...args, ...(options.extraArgs ?? [])],
      user: { uid: spec.securityContext.runAsUser, gid: spec.securityContext.runAsGroup },
      mounts: mountsOf(spec, container, options),
      writable,
    }),
  });
  return {
    process: running,
    probe: async (which) => {
      const { host = netns.address, port, path } = container[which].httpGet;
      return (await netns.httpGet(`http://${host}:${port}${path}`))?.status;
    },
    terminate: () => process.kill(innermost(running.child.pid ?? 0), 'SIGTERM'),
  };
}

/** The last of a chain of processes of which each has one child. */
function innermost(pid: number): number {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return child === undefined || child === '' ? pid : innermost(Number(child));
}

/** Waits until a URL inside the Pod's namespace answers 200. */
export async function waitFor(pod: Pod, netns: NodeNetns, url: string): Promise<void> {
  await waitUntilReady(pod.process, async () => (await netns.httpGet(url))?.status === 200);
}

// biome-ignore lint/suspicious/noExplicitAny: the spec of a Pod
type Spec = any;

/** The sandbox enforces exactly this. A manifest that restricts less would run more restricted here than on a node. */
function assertRestricted(spec: Spec, container: Spec): void {
  const { securityContext } = container;
  const closed =
    spec.hostNetwork === true &&
    spec.securityContext.runAsNonRoot === true &&
    securityContext.readOnlyRootFilesystem === true &&
    securityContext.allowPrivilegeEscalation === false &&
    securityContext.capabilities.drop.join() === 'ALL' &&
    securityContext.capabilities.add === undefined;
  if (!closed) throw new Error('the container is not as closed as the sandbox it is tested in');
}

function environmentOf(container: Spec, options: PodOptions): Record<string, string> {
  const { objects, nodeName, netns } = options;
  // The variables that kubelet sets for default/kubernetes, unless the container sets them.
  const env: Record<string, string> = {
    KUBERNETES_SERVICE_HOST: '10.96.0.1',
    KUBERNETES_SERVICE_PORT: '443',
  };
  const fields: Readonly<Record<string, string>> = {
    'spec.nodeName': nodeName,
    'status.hostIP': netns.address,
  };
  for (const { name, value, valueFrom } of container.env) {
    const { fieldRef, configMapKeyRef } = valueFrom ?? {};
    if (fieldRef !== undefined) env[name] = fields[fieldRef.fieldPath] ?? '';
    else if (configMapKeyRef === undefined) env[name] = value;
    else env[name] = dataOf(objects, configMapKeyRef.name)[configMapKeyRef.key] ?? '';
  }
  return env;
}

function dataOf(objects: readonly KubeObject[], configMap: string): Record<string, string> {
  return only(objects, 'ConfigMap', configMap).data as Record<string, string>;
}

function mountsOf(spec: Spec, container: Spec, options: PodOptions): Record<string, string> {
  const { name, netns, objects, token, ca } = options;
  chmodSync(netns.folder, 0o755);
  const account = writeFolder(join(netns.folder, `${name}-account`), { token, 'ca.crt': ca });
  const mounts = { '/var/run/secrets/kubernetes.io/serviceaccount': account };
  for (const { name: volumeName, mountPath } of container.volumeMounts) {
    const volume = spec.volumes.find((each: { name: string }) => each.name === volumeName);
    if (volume.configMap === undefined) continue;
    const folder = join(netns.folder, `${name}-${volumeName}`);
    Object.assign(mounts, {
      [mountPath]: writeFolder(folder, dataOf(objects, volume.configMap.name)),
    });
  }
  return mounts;
}

/** Makes the folders of hostPath volumes as kubelet does, as root. Returns where they are mounted. */
function hostFolders(spec: Spec, container: Spec, options: PodOptions): Record<string, string> {
  const folders: Record<string, string> = {};
  for (const { name, mountPath } of container.volumeMounts) {
    const volume = spec.volumes.find((each: { name: string }) => each.name === name);
    if (volume.hostPath === undefined) continue;
    folders[mountPath] = hostFolder(name, options);
    mkdirSync(folders[mountPath], { recursive: true, mode: 0o755 });
  }
  return folders;
}

function hostFolder(volume: string, { name, netns }: PodOptions): string {
  return join(netns.folder, `${name}-${volume}`);
}

/** Ours are programs of the image, about a folder of the host. */
async function runInitContainers(spec: Spec, options: PodOptions): Promise<void> {
  for (const { command, volumeMounts, securityContext } of spec.initContainers ?? []) {
    const { drop, add } = securityContext.capabilities;
    if (drop.join() !== 'ALL' || add.join() !== 'CHOWN') {
      throw new Error(`an init container that is not known here: ${command}`);
    }
    const [{ name, mountPath }] = volumeMounts;
    const here = (word: string) => word.replaceAll(mountPath, hostFolder(name, options));
    await runWithChownAlone(options.image, (command as string[]).map(here));
  }
}

function writeFolder(folder: string, files: Readonly<Record<string, string>>): string {
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return folder;
}
