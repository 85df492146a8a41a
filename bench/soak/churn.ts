import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';

/** Name of the node that the wrapper serves. */
export const NODE_NAME = 'node-0';

export const NODES = 20;
export const SERVICES = 200;
const KEYS = ['["kubernetes.io/hostname","*"]', '["site"]', '["site","*"]', undefined];

/** Nodes, Services, slices and Endpoints to begin with. */
export function fill(server: ApiServer): void {
  for (let node = 0; node < NODES; node++) {
    server.create('nodes', { metadata: { name: `node-${node}`, labels: labelsOf(node) } });
  }
  for (let service = 0; service < SERVICES; service++) {
    server.create('services', serviceOf(service));
    for (const letter of ['a', 'b']) putSlice(server, service, letter, 0);
  }
}

/** Changes something now and then, of each kind, until the signal. Resolves with the number of changes. */
export async function churn(server: ApiServer, signal: AbortSignal): Promise<number> {
  let changes = 0;
  for (; !signal.aborted; changes++) {
    const service = (changes * 7) % SERVICES;
    putSlice(server, service, changes % 2 === 0 ? 'a' : 'b', changes);
    // Sites come and go, and with them the sets of nodes that the wrapper follows.
    if (changes % 50 === 0) server.label(NODE_NAME, 'site', `site-${(changes / 50) % 5}`);
    if (changes % 11 === 0) server.label(`node-${1 + (changes % (NODES - 1))}`, 'site', 'site-1');
    if (changes % 17 === 0) {
      const keys = KEYS[changes % KEYS.length] ?? null;
      server.annotate(`s-${service}`, 'topologyKeys', keys);
    }
    if (changes % 400 === 0) server.cutWatches();
    if (changes % 1500 === 0) server.compact();
    await sleep(20);
  }
  server.label(NODE_NAME, 'site', 'site-0');
  return changes;
}

export function labelsOf(node: number): Record<string, string> {
  return { site: `site-${node % 5}` };
}

function putSlice(server: ApiServer, service: number, letter: string, change: number): void {
  const object = sliceOf(service, letter, change);
  if (server.get('endpointslices', object.metadata.name) === undefined)
    server.create('endpointslices', object);
  else server.update('endpointslices', object);
}

/** A Service, with topology keys or without. */
export function serviceOf(service: number) {
  const topologyKeys = KEYS[service % KEYS.length];
  const annotations: Record<string, string> = topologyKeys === undefined ? {} : { topologyKeys };
  return {
    metadata: { name: `s-${service}`, namespace: 'default', annotations },
    spec: { ports: [{ port: 80 }], type: 'ClusterIP' },
  };
}

/** A slice of a Service; each change moves its endpoints to other nodes. */
export function sliceOf(service: number, letter: string, change: number) {
  return {
    metadata: {
      name: `s-${service}-${letter}`,
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': `s-${service}` },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    endpoints: Array.from({ length: 10 }, (_, index) => ({
      addresses: [`10.${letter === 'a' ? 1 : 2}.${service}.${index + 1}`],
      conditions: { ready: (change + index) % 5 !== 0 },
      nodeName: `node-${(change + index) % NODES}`,
    })),
  };
}
