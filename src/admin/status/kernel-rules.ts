import type { NodeReader } from '../../diagnosis/reading/node-reading.ts';
import type { Check } from '../../diagnosis/reading/readiness.ts';
import { addressText } from '../../util/address.ts';
import { Recent } from '../../util/recent.ts';
import { kubeProxyLine } from './kube-proxy-line.ts';
import {
  type ProbeOptions,
  type ProbeResult,
  type ProbeTarget,
  probeKubeProxy,
} from './kube-proxy-probe.ts';
import { kubernetesTarget } from './kubernetes-target.ts';
import { okLine, problemLine, type StatusLine, unknownLine, warningLine } from './status-line.ts';

/** A change that waits for longer is late, in seconds. kube-proxy writes at the latest after 30 s (syncPeriod). */
const LATE_SECONDS = 60;

/** For how long the last line counts where nothing is probed, in milliseconds: two scrapes a minute apart. */
const RECENT_MS = 120_000;

/** A probe is shared by all that look within this time, in milliseconds. */
const SHARED_MS = 10_000;

/**
 * Whether the kernel has the rules of kube-proxy, as far as the wrapper can find out without any right. /status and
 * /metrics probe, and share the result for 10 s. /readyz only reads the last line: each request of a kubelet would wait
 * for a probe of its own, and a probe connects to the API server.
 */
export class KernelRules {
  readonly #reader: NodeReader;
  readonly #probe: Recent<ProbedTarget>;
  #last: { readonly at: number; readonly line: StatusLine | undefined } | undefined;

  constructor(reader: NodeReader, options?: ProbeOptions) {
    this.#reader = reader;
    this.#probe = new Recent(SHARED_MS, async () => {
      const target = kubernetesTarget(reader.proxy);
      return { target, ...(await probeKubeProxy(target, options)) };
    });
  }

  /** The line found last; undefined: none lately, or kube-proxy is not pointed at this wrapper. */
  get last(): StatusLine | undefined {
    const last = this.#last;
    return last === undefined || performance.now() - last.at > RECENT_MS ? undefined : last.line;
  }

  /** The last line as a check, which never fails: if kube-proxy is not well, this wrapper still is. */
  checks(): Check[] {
    const { state, text } = this.last ?? {};
    return state === 'problem' ? [{ name: 'rules', degraded: text }] : [];
  }

  /**
   * The lines about kube-proxy and, if it is pointed at this wrapper, about its rules. Never rejects; takes at most two
   * limits of the probe.
   */
  async findLines(): Promise<readonly StatusLine[]> {
    const lines = await this.#find();
    this.#last = { at: performance.now(), line: lines.find(({ id }) => id === 'rules') };
    return lines;
  }

  async #find(): Promise<readonly StatusLine[]> {
    const unprobed = kubeProxyLine(this.#reader.read(), false);
    if (unprobed.state === 'notConnected') return [unprobed];
    const found = await this.#probe.get();
    const reading = this.#reader.read();
    const line = kubeProxyLine(reading, found.health > 0);
    if (line.state === 'notConnected') return [line];
    const lines = [line, ...(found.mode === 'ipvs' ? [IPVS_ENDS] : [])];
    const { state } = reading.data;
    if (state === 'connected' || state === 'quiet') return [...lines, rulesFound(found)];
    const cause =
      state === 'interrupted'
        ? 'changes of a collection do not arrive'
        : 'the API server is unreachable';
    return [...lines, unknownLine('rules', `not known while ${cause}`)];
  }
}

/** What a probe found, and of what. */
interface ProbedTarget extends ProbeResult {
  readonly target: ProbeTarget;
}

/** Each kube-proxy since 1.35 warns of it in its log, with the releases. */
const IPVS_ENDS = warningLine(
  'kube-proxy',
  'kube-proxy is in IPVS mode, which Kubernetes 1.40 switches off and 1.43 removes',
  'change to nftables before 1.40: docs/ipvs.md',
);

const RESTART =
  'restart this kube-proxy; if it happens again, see "The kernel has no rules" in docs/operations-node.md';

/** The line about what a probe found. */
export function rulesFound(found: ProbedTarget): StatusLine {
  const { health, lateSeconds = 0, clusterIp: opens, backend } = found;
  const { clusterIp } = found.target;
  const about = `ClusterIP ${clusterIp && addressText(clusterIp)} of default/kubernetes`;
  if (opens === false && backend) {
    const text = 'the kernel has no rules: no connection to the ClusterIP of default/kubernetes';
    return problemLine('rules', text, RESTART, `${about}; its backends accept connections`);
  }
  if (health >= 500) {
    return problemLine('rules', `kube-proxy reports that it is not healthy (${health})`, RESTART);
  }
  if (lateSeconds > LATE_SECONDS) {
    const late = `a change waits for ${Math.round(lateSeconds)} s`;
    return problemLine('rules', 'kube-proxy does not write its rules', RESTART, late);
  }
  if (opens === undefined) {
    return unknownLine('rules', 'the ClusterIP of default/kubernetes is not known');
  }
  if (!opens) {
    const text = 'a backend of default/kubernetes is unreachable, and so is its ClusterIP';
    return unknownLine('rules', text, about);
  }
  return okLine('rules', 'a connection to the ClusterIP of default/kubernetes opens', about);
}
