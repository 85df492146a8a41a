import type { KubeProxyMode } from '../node/kube-proxy.ts';
import { type Component, ensureBinary, kubernetes } from '../process/binaries.ts';

/** A kube-proxy that the matrix runs, beside those of test/real/e2e. */
export interface KubeProxyRow {
  readonly version: string;
  readonly modes: readonly KubeProxyMode[];
}

const BOTH = ['iptables', 'nftables'] as const;

/** `KPW_VERSIONS=1.28,1.33` restricts the matrix to these minor versions. Default: all. */
const only = process.env.KPW_VERSIONS?.split(',');
const isChosen = (version: string): boolean =>
  only?.some((minor) => version.startsWith(`${minor}.`)) ?? true;

/** The last patch release of each minor version whose modules can be had together. */
const allKubeProxies: readonly KubeProxyRow[] = [
  { version: '1.22.17', modes: ['iptables'] },
  { version: '1.23.17', modes: ['iptables'] },
  { version: '1.24.17', modes: ['iptables'] },
  { version: '1.25.4', modes: ['iptables'] },
  { version: '1.26.3', modes: ['iptables'] },
  { version: '1.27.3', modes: ['iptables'] },
  { version: '1.28.15', modes: ['iptables'] },
  { version: '1.29.15', modes: ['iptables'] },
  { version: '1.30.4', modes: ['iptables'] },
  // Since 1.31 nftables needs no feature gate.
  { version: '1.31.4', modes: BOTH },
  { version: '1.32.2', modes: BOTH },
  { version: '1.33.13', modes: BOTH },
  { version: '1.34.4', modes: BOTH },
  { version: '1.35.4', modes: BOTH },
  { version: '1.36.3', modes: BOTH },
];
export const kubeProxies = allKubeProxies.filter(({ version }) => isChosen(version));

/**
 * API servers beside that of test/real/e2e. Before 1.31 none can select Services by their address, as kube-proxy does
 * since 1.33, so it has a kube-proxy of its own version.
 */
const allApiServers: readonly { readonly version: string; readonly kubeProxy?: string }[] = [
  { version: '1.30.4', kubeProxy: '1.30.4' },
  { version: '1.33.13' },
  { version: '1.34.4' },
  { version: '1.35.4' },
  { version: '1.36.3' },
];
export const apiServers = allApiServers.filter(({ version }) => isChosen(version));

/** A component of a version of Kubernetes that only this matrix runs. */
function ofMatrix(name: string, version: string): Component {
  const component = kubernetes(name, version);
  return { ...component, module: `versions/${component.module}` };
}

type Report = (line: string) => void;

/** Builds the kube-proxy if it is missing, and returns its path. */
export async function ensureKubeProxy(version: string, report?: Report): Promise<string> {
  return await ensureBinary(ofMatrix('kube-proxy', version), report);
}

/** Builds the API server if it is missing, and returns its path. */
export async function ensureApiServer(version: string, report?: Report): Promise<string> {
  return await ensureBinary(ofMatrix('kube-apiserver', version), report);
}

/** CoreDNS of components/coredns/main.go. */
export async function ensureCoreDns(report?: Report): Promise<string> {
  return await ensureBinary(component('coredns', '1.15.0'), report);
}

/** The part of Traefik that reads Services: components/traefik/main.go. */
export async function ensureTraefik(report?: Report): Promise<string> {
  return await ensureBinary(component('traefik', '3.7.13'), report);
}

function component(name: string, version: string): Component {
  const module = `versions/components/${name}`;
  return { name, version, module, target: '.', flags: [], ldflags: '-s -w' };
}
