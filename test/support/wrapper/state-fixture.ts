import { createMetrics } from '../../../src/admin/metrics/metrics.ts';
import { withDetail } from '../../../src/diagnosis/reading/causes.ts';
import { readHealth } from '../../../src/diagnosis/reading/health.ts';
import { NodeReader } from '../../../src/diagnosis/reading/node-reading.ts';
import type { Check } from '../../../src/diagnosis/reading/readiness.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/server/node-proxy.ts';
import { semanticBytes } from '../codec/semantic-bytes.ts';
import { ACCEPT, CODECS } from '../guarantees/watch-recorder.ts';
import { useFastFolder } from '../use-folder.ts';

export const PATHS = {
  nodes: '/api/v1/nodes?fieldSelector=metadata.name%3Dedge-1',
  cidrs: '/apis/networking.k8s.io/v1/servicecidrs',
  services:
    '/api/v1/services?fieldSelector=spec.clusterIP!%3DNone&labelSelector=!service.kubernetes.io/service-proxy-name',
  slices: '/apis/discovery.k8s.io/v1/endpointslices',
} as const;

/** A folder for snapshots, which are written immediately. It is removed later. */
export function useState() {
  return {
    folder: useFastFolder(),
    maxBytes: 1 << 24,
    writeBytesPerSecond: 1e12,
    graceMs: 60,
    quietMs: 5,
    unrestMs: 20,
  } satisfies NodeProxyOptions['state'];
}

/** The objects of a LIST, without their versions, by name. Rejects for any other status than 200. */
export async function shownBy(proxy: NodeProxy, path: string): Promise<Map<string, string>> {
  const response = await fetch(proxy.url + path, { headers: { accept: ACCEPT.protobuf } });
  const body = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`HTTP ${response.status}: ${body}`);
  const codec = CODECS.protobuf;
  return new Map(
    codec.decodeList([body]).items.map((object) => {
      return [codec.meta(object).name, semanticBytes(codec, object).toString('latin1')] as const;
    }),
  );
}

/** Everything that kube-proxy reads. */
export async function allShownBy(proxy: NodeProxy): Promise<Record<string, Map<string, string>>> {
  const shown: Record<string, Map<string, string>> = {};
  for (const [name, path] of Object.entries(PATHS)) shown[name] = await shownBy(proxy, path);
  return shown;
}

/** The checks of /readyz. */
export function checksOf(proxy: NodeProxy): readonly Check[] {
  return readHealth(proxy).checks;
}

/** The text of /metrics, read now. */
export async function metricsOf(proxy: NodeProxy): Promise<string> {
  return await createMetrics(new NodeReader(proxy)).registry.metrics();
}

/** The problems that /readyz reports. A test has no kube-proxy, and does not wait for the default views. */
export function problemsOf(proxy: NodeProxy): string[] {
  return checksOf(proxy)
    .filter(({ name }) => name !== 'kube-proxy')
    .flatMap(problemIn);
}

/** The problem of the check whose name contains this; undefined: it passes. */
export function problemOf(proxy: NodeProxy, name: string): string | undefined {
  const checks = checksOf(proxy).filter((check) => check.name.includes(name));
  return checks.flatMap(problemIn)[0];
}

function problemIn({ problem, detail }: Check): string[] {
  return problem === undefined ? [] : [withDetail(problem, detail)];
}
