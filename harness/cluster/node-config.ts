import { cpSync, mkdirSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { POD_IMAGE } from './images.ts';

/** Where containerd listens: in the node, and in a Pod that mounts the folder /run/containerd. */
export const CRI_SOCKET = '/run/containerd/containerd.sock';

/** Folders of a node that are its own. The host's are hidden behind them. The node has a copy of the host's /etc. */
export const OWN_FOLDERS = ['etc', 'run', 'var/lib', 'var/log'] as const;

/** What the kernel says of its boot. */
export const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** Where the kubelet looks for static Pods, as kubeadm sets it up. */
const STATIC_PODS = '/etc/kubernetes/manifests';

/** Files of a node, on this machine. */
export interface NodeFiles {
  readonly containerdConfig: string;
  readonly kubeletConfig: string;
  /** What each container has, besides what the kubelet asks for. */
  readonly runtimeSpec: string;
}

export interface NodeConfigOptions {
  /** The node's folder on this machine. */
  readonly folder: string;
  readonly podCidr: string;
  /** Parent of the cgroups of its Pods, such as `/kpwc0/1`. */
  readonly cgroup: string;
}

/** Writes what containerd, its network plugins and the kubelet read. */
export function writeNodeConfig(options: NodeConfigOptions): NodeFiles {
  const { folder } = options;
  const files = {
    containerdConfig: join(folder, 'containerd.toml'),
    kubeletConfig: join(folder, 'kubelet.json'),
    runtimeSpec: join(folder, 'runtime-spec.json'),
  };
  cpSync('/etc', join(folder, 'etc'), { recursive: true, verbatimSymlinks: true });
  for (const each of ['cni', STATIC_PODS, ...OWN_FOLDERS]) {
    mkdirSync(join(folder, each), { recursive: true });
  }
  writeFileSync(join(folder, 'resolv.conf'), '');
  writeFileSync(join(folder, 'cni/10-bridge.conflist'), JSON.stringify(cniConfig(options)));
  writeFileSync(files.containerdConfig, containerdConfig(folder, files.runtimeSpec));
  writeFileSync(files.kubeletConfig, JSON.stringify(kubeletConfig(options)));
  return files;
}

function cniConfig({ podCidr }: NodeConfigOptions): unknown {
  const ipam = {
    type: 'host-local',
    ranges: [[{ subnet: podCidr }]],
    routes: [{ dst: '0.0.0.0/0' }],
  };
  const bridge = { type: 'bridge', bridge: 'cni0', isGateway: true, hairpinMode: true, ipam };
  const portmap = { type: 'portmap', capabilities: { portMappings: true } };
  return { cniVersion: '0.4.0', name: 'pods', plugins: [bridge, portmap] };
}

/**
 * Lets containers have the boot id of their node, whose /proc they do not share.
 *
 * @param base the spec of containerd
 */
export function writeRuntimeSpec(files: NodeFiles, base: string): void {
  // It runs in the mounts of the container, in its root, before that is `/`.
  const args = ['mount', '--bind', BOOT_ID, BOOT_ID.slice(1)];
  const hooks = { createContainer: [{ path: '/bin/mount', args }] };
  writeFileSync(files.runtimeSpec, JSON.stringify({ ...JSON.parse(base), hooks }));
}

function containerdConfig(folder: string, runtimeSpec: string): string {
  return `version = 2
[grpc]
  address = "${CRI_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${POD_IMAGE}"
  # Without it runc fails where oom_score_adj may not be lowered.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "${snapshotter(folder)}"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      base_runtime_spec = "${runtimeSpec}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${join(folder, 'cni')}"
`;
}

/** Overlays cannot be stacked: a machine that is itself a container may have one already. */
export function snapshotter(folder: string): 'overlayfs' | 'native' {
  const OVERLAYFS_SUPER_MAGIC = 0x79_4c_76_30;
  return statfsSync(folder).type === OVERLAYFS_SUPER_MAGIC ? 'native' : 'overlayfs';
}

function kubeletConfig(options: NodeConfigOptions): unknown {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: `unix://${CRI_SOCKET}`,
    staticPodPath: STATIC_PODS,
    resolvConf: join(options.folder, 'resolv.conf'),
    volumePluginDir: '/var/lib/kubelet/volume-plugins',
    // All nodes share the cgroups of this machine.
    cgroupDriver: 'cgroupfs',
    cgroupRoot: options.cgroup,
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    failCgroupV1: false,
    failSwapOn: false,
    localStorageCapacityIsolation: false,
    // Only this network reaches it, and there is nobody else in it.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    nodeStatusUpdateFrequency: '5s',
    // There is no registry to get an image from again.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: { 'memory.available': '100Mi' },
  };
}
