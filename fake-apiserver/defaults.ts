import { createHash } from 'node:crypto';
import type { Collection } from './collections.ts';
import { isRecord, type KubeObject } from './kube-object.ts';

/**
 * Sets the defaults of an API server that matter to a proxy: a Service's type, cluster IP and ports, and a slice's port
 * protocols. Fields that are set do not change. On an update, an absent cluster IP is that of `previous`.
 */
export function withDefaults(
  collection: Collection,
  object: KubeObject,
  previous?: KubeObject,
): KubeObject {
  switch (collection.kind) {
    case 'Service':
      return { ...object, ...serviceDefaults(object, previous) };
    case 'EndpointSlice':
      return { ...object, ports: withPortDefaults(object.ports, { name: '' }) };
    case 'Node':
      return { ...object, ...nodeDefaults(collection, object) };
    default:
      return object;
  }
}

function serviceDefaults(object: KubeObject, previous?: KubeObject): Record<string, unknown> {
  const spec = isRecord(object.spec) ? object.spec : {};
  const type = spec.type ?? 'ClusterIP';
  const external = type === 'ExternalName';
  const allocated = isRecord(previous?.spec) ? previous.spec.clusterIP : undefined;
  const clusterIP = spec.clusterIP ?? allocated ?? clusterIPOf(object);
  const addressed = {
    clusterIP,
    clusterIPs: [clusterIP],
    ipFamilies: [String(clusterIP).includes(':') ? 'IPv6' : 'IPv4'],
    ipFamilyPolicy: 'SingleStack',
    internalTrafficPolicy: 'Cluster',
  };
  return {
    spec: {
      ...(external ? {} : addressed),
      ...(type === 'NodePort' || type === 'LoadBalancer'
        ? { externalTrafficPolicy: 'Cluster' }
        : {}),
      type,
      sessionAffinity: 'None',
      ...spec,
      ...(Array.isArray(spec.ports) ? { ports: servicePorts(spec.ports) } : {}),
    },
    status: isRecord(object.status) ? object.status : { loadBalancer: {} },
  };
}

/** Go structs that are not pointers are always present. Taints of admission plugins are not added. */
function nodeDefaults(collection: Collection, object: KubeObject): Record<string, unknown> {
  const { spec, status } = collection.blank;
  const merged = (blank: unknown, given: unknown) => ({
    ...(isRecord(given) ? given : {}),
    ...(isRecord(blank) ? blank : {}),
    ...(isRecord(given) ? given : {}),
  });
  return { spec: merged(spec, object.spec), status: merged(status, object.status) };
}

function servicePorts(ports: readonly unknown[]): unknown[] {
  return ports.map((port) =>
    isRecord(port) ? { protocol: 'TCP', targetPort: port.port, ...port } : port,
  );
}

function withPortDefaults(ports: unknown, defaults: Record<string, unknown>): unknown {
  if (!Array.isArray(ports)) return ports;
  return ports.map((port) => (isRecord(port) ? { ...defaults, protocol: 'TCP', ...port } : port));
}

/** An address of 10.96.0.0/12 derived from the name. It is the same at each start, so logs can be compared. */
function clusterIPOf(object: KubeObject): string {
  const { namespace = '', name } = object.metadata;
  const digest = createHash('sha256').update(`${namespace}/${name}`).digest();
  return `10.${96 + (digest.readUInt8(0) % 16)}.${digest.readUInt8(1)}.${digest.readUInt8(2) || 1}`;
}
