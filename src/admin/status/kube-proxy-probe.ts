import { once } from 'node:events';
import { connect } from 'node:net';
import { boundedRequest } from '../../client/system/bounded-request.ts';
import type { Address } from '../../util/address.ts';
import { greatest } from '../../util/extremes.ts';

/** What the probe of a node found. */
export interface ProbeResult {
  /**
   * Status of kube-proxy's /livez; 0: it does not answer. Its /healthz is 503 also while the node is about to be
   * removed (KEP-3836), to drain load balancers.
   */
  readonly health: number;
  /** For how long a change waits to be written to the kernel, in seconds; undefined: kube-proxy does not say. */
  readonly lateSeconds: number | undefined;
  /** `iptables`, `ipvs` or `nftables`, as kube-proxy says; undefined: it does not. */
  readonly mode: string | undefined;
  /** Whether a connection to the ClusterIP opens; undefined: its address is not known. */
  readonly clusterIp: boolean | undefined;
  /**
   * Whether connections to its backends open without the kernel's rules; tried only if the ClusterIP fails. If one of
   * these does not open, the connection to the ClusterIP may have met the same backend.
   */
  readonly backend: boolean;
}

export interface ProbeTarget {
  /** Of the Service default/kubernetes. */
  readonly clusterIp: Address | undefined;
  readonly backends: readonly Address[];
}

export interface ProbeOptions {
  /** Ports of kube-proxy on the loopback of the node; default 10256 and 10249. */
  readonly ports?: { readonly health: number; readonly metrics: number };
  /** Time limit of each question, in milliseconds; default 1,000. */
  readonly limitMs?: number;
}

const PORTS = { health: 10_256, metrics: 10_249 };
/** Backends that are tried: API servers. */
const MAX_BACKENDS = 3;

/**
 * Asks whether kube-proxy has written its rules to the kernel. Never rejects. Takes at most twice the time limit.
 *
 * kube-proxy's own word is not enough: a kube-proxy whose image lacks /etc/protocols leaves no Service in nftables, and
 * its health and last sync look well. Without any right, only a connection to a ClusterIP shows the rules. The
 * Service default/kubernetes always has one, and a connection to it does no harm.
 */
export async function probeKubeProxy(
  { clusterIp, backends }: ProbeTarget,
  { ports = PORTS, limitMs = 1_000 }: ProbeOptions = {},
): Promise<ProbeResult> {
  const signal = AbortSignal.timeout(limitMs);
  const get = (port: number, path: string) =>
    boundedRequest({ host: '127.0.0.1', port, path, signal, maxBytes: METRICS_BYTES });
  const askHealth = async () => {
    const health = await get(ports.health, '/livez');
    // A kube-proxy before 1.28 has no other.
    return health.status === 404 ? await get(ports.health, '/healthz') : health;
  };
  const [health, metrics, mode, opened] = await Promise.all([
    askHealth(),
    get(ports.metrics, '/metrics'),
    get(ports.metrics, '/proxyMode'),
    clusterIp === undefined ? undefined : opens(clusterIp, limitMs),
  ]);
  const tried = opened === false ? backends.slice(0, MAX_BACKENDS) : [];
  const direct = await Promise.all(tried.map((backend) => opens(backend, limitMs)));
  return {
    health: health.status,
    lateSeconds: metrics.status === 200 ? lateSeconds(metrics.body.toString()) : undefined,
    mode: mode.status === 200 ? mode.body.toString().trim() : undefined,
    clusterIp: opened,
    backend: direct.length > 0 && direct.every(Boolean),
  };
}

async function opens({ host, port }: Address, limitMs: number): Promise<boolean> {
  const socket = connect({ host, port });
  // Without a listener an error after the timeout would end the process.
  socket.on('error', () => {});
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(limitMs) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** The metrics of kube-proxy are some 100 kB. They do not grow with Services. */
const METRICS_BYTES = 1024 * 1024;
const QUEUED = 'kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds';
const SYNCED = 'kubeproxy_sync_proxy_rules_last_timestamp_seconds';

function lateSeconds(metrics: string): number | undefined {
  const synced = samplesOf(metrics, SYNCED);
  if (synced.size === 0) return undefined;
  const late = Array.from(samplesOf(metrics, QUEUED), ([family, queued]) => {
    const isWritten = queued <= (synced.get(family) ?? 0);
    return isWritten ? 0 : Math.max(0, Date.now() / 1000 - queued);
  });
  return Math.max(0, greatest(late));
}

/** The samples of a metric by their labels: since 1.33 there is one for each IP family. */
function samplesOf(metrics: string, name: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of metrics.split('\n')) {
    if (!line.startsWith(name)) continue;
    const end = line.lastIndexOf(' ');
    const value = Number(line.slice(end + 1));
    if (Number.isFinite(value)) samples.set(line.slice(name.length, end), value);
  }
  return samples;
}
