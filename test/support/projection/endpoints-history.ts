import type { Codec, ObjectBytes } from '../../../src/filter/codec/codec.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../../../src/filter/codec/resource.ts';
import { encodeObject } from '../codec/encode-object.ts';
import { semanticBytes } from '../codec/semantic-bytes.ts';
import { ANNOTATIONS, NODES, SERVICES, type Step, ZONE } from './endpoints-steps.ts';
import { type ClusterModel, ProjectionHarness } from './projection-harness.ts';

/** A view of endpoints and the model of its cluster, changed step by step. */
export class EndpointsHistory {
  readonly model: ClusterModel = {
    nodes: new Map(NODES.map((node) => [node, labelsOf('a', 'z1')])),
    services: new Map(SERVICES.map((name) => [name, null])),
    objects: new Map(),
  };
  readonly harness: ProjectionHarness;
  readonly #codec: Codec;
  readonly #resource: Resource;
  #version = 100;

  constructor(codec: Codec, resource: Resource) {
    this.#codec = codec;
    this.#resource = resource;
    this.harness = new ProjectionHarness(codec, resource, this.model, 12_345_670);
    this.harness.start();
  }

  apply(step: Step): void {
    const { harness } = this;
    if (step.kind === 'sync') harness.syncNodeSets();
    else if (step.kind === 'minute') harness.closeLingering();
    else if (step.kind === 'label') this.#label(step);
    else if (step.kind === 'annotate') {
      this.#setAnnotation(step.service, ANNOTATIONS[step.annotation] as string | null);
    } else if (step.kind === 'remove-service') this.#setAnnotation(step.service, undefined);
    else this.#setObject(step);
  }

  #label(step: Extract<Step, { kind: 'label' }>): void {
    this.model.nodes.set(NODES[step.node] as string, labelsOf(step.site, step.zone));
    if (step.node === 0) this.harness.setOwnLabels();
    this.harness.followNodes();
  }

  /** `undefined` deletes the Service. */
  #setAnnotation(index: number, annotation: string | null | undefined): void {
    const name = SERVICES[index] as string;
    if (annotation === undefined) this.model.services.delete(name);
    else this.model.services.set(name, annotation);
    this.harness.setPolicies([name]);
  }

  #setObject(step: Extract<Step, { kind: 'object' | 'delete' }>): void {
    const { objects } = this.model;
    const key = `default/${objectName(this.#resource, step)}`;
    const existed = objects.has(key);
    if (step.kind === 'delete') objects.delete(key);
    else objects.set(key, encodeStep(this.#codec, this.#resource, step, ++this.#version));
    this.harness.sendObject(key, existed);
  }

  /** What a fresh list of the model shows under its topology, reduced to what counts for a client. */
  fresh(): Map<string, string> {
    const fresh = new ProjectionHarness(this.#codec, this.#resource, this.model, 0);
    fresh.start();
    return significantOf(fresh);
  }
}

/** The objects of a view by key, reduced to the bytes that count for a client. */
export function significantOf(harness: ProjectionHarness): Map<string, string> {
  const { codec, view } = harness;
  const entries = view.snapshot().items.map((item) => {
    const { namespace, name } = codec.meta(item);
    return [`${namespace}/${name}`, semanticBytes(codec, item).toString('latin1')] as const;
  });
  return new Map(entries.sort());
}

function labelsOf(site: string, zone: string): Record<string, string> {
  return { ...(site === '' ? {} : { site }), ...(zone === '' ? {} : { [ZONE]: zone }) };
}

function encodeStep(
  codec: Codec,
  resource: Resource,
  step: Extract<Step, { kind: 'object' }>,
  version: number,
): ObjectBytes {
  const [namespace = '', name = ''] = (SERVICES[step.service] as string).split('/');
  const metadata = {
    name: objectName(resource, step),
    namespace,
    uid: `uid-${step.service}-${step.slice}`,
    resourceVersion: String(version),
    generation: version,
    labels: { 'kubernetes.io/service-name': name },
  };
  const ports = [{ name: step.port, protocol: 'TCP', port: 80 }];
  const endpoints = step.endpoints.map(({ address, node, zone, state }) => ({
    addresses: [`10.0.0.${address}`],
    conditions: { ready: state === 0, serving: state <= 1, terminating: state === 1 },
    ...(node === '' ? {} : { nodeName: node }),
    ...(zone === '' ? {} : { zone }),
    ...(zone === 'z1' ? { hints: { forZones: [{ name: zone }] } } : {}),
  }));
  const addresses = (ready: boolean) =>
    step.endpoints
      .filter(({ state }) => (state === 0) === ready)
      .map(({ address, node }) => ({
        ip: `10.0.0.${address}`,
        ...(node === '' ? {} : { nodeName: node }),
      }));
  const object =
    resource === ENDPOINT_SLICES
      ? { metadata, addressType: 'IPv4', endpoints, ports }
      : {
          metadata,
          subsets: [{ addresses: addresses(true), notReadyAddresses: addresses(false), ports }],
        };
  return encodeObject(codec.encoding, resource.kind, object);
}

/** An Endpoints object has the name of its Service; a Service has several slices. */
function objectName(resource: Resource, step: { service: number; slice: number }): string {
  const [, name = ''] = (SERVICES[step.service] as string).split('/');
  return resource === ENDPOINTS ? name : `${name}-${step.slice}`;
}
