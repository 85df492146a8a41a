import type { Codec, EndpointsFacts, ObjectBytes } from '../../../src/filter/codec/codec.ts';
import type { Change, ChangeHandler } from '../../../src/filter/objects/change.ts';
import { podEndpoints } from '../../../src/filter/objects/pod-endpoint.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../../../src/filter/objects/resource.ts';
import type { Corrector } from '../../../src/node/local-runtime/corrector.ts';
import { LocalRuntime, type Reachability } from '../../../src/node/local-runtime/local-runtime.ts';
import { ManualClock } from '../clocks.ts';
import { encodeObject } from '../codec/encode-object.ts';
import { recordingLogger } from '../recording-logger.ts';
import { FakeRuntime } from './fake-runtime.ts';

export const OWN = 'edge-1';
export const GRACE_MS = 3_000;
export const RETURN_MS = 30_000;

/** An endpoint of a Pod as the API server has it. */
export interface Word {
  readonly pod: string;
  readonly ip: string;
  /** Default: true. */
  readonly ready?: boolean;
  /** Default: this node. */
  readonly node?: string;
}

/** Whether the API server can be reached; a test decides it. */
export class FakeReachability implements Reachability {
  readonly #listeners = new Set<() => void>();
  #isDown = false;

  get isCutOff(): boolean {
    return this.#isDown;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  set(isDown: boolean): void {
    this.#isDown = isDown;
    for (const listener of this.#listeners) listener();
  }

  get listeners(): number {
    return this.#listeners.size;
  }
}

/** Keeps the objects that were passed on, and counts the changes. */
class Passed implements ChangeHandler<EndpointsFacts> {
  readonly objects = new Map<string, ObjectBytes>();
  readonly changes: string[] = [];
  /** Changes that passed on the same bytes again. */
  redundant = 0;

  onChanges(changes: readonly Change<EndpointsFacts>[]): void {
    for (const change of changes) {
      this.changes.push(`${change.type} ${change.key}`);
      if (change.type === 'DELETED') this.objects.delete(change.key);
      else {
        if (this.objects.get(change.key)?.equals(change.object) === true) this.redundant++;
        this.objects.set(change.key, change.object);
      }
    }
  }

  onSynced(): void {}
}

/** The stage of one view, with a clock, a reachability and a container runtime that a test controls. */
export class CorrectedNode {
  readonly clock = new ManualClock();
  readonly reachability = new FakeReachability();
  readonly runtime = new FakeRuntime();
  readonly passed = new Passed();
  readonly log = recordingLogger();
  readonly local: LocalRuntime;
  readonly corrector: Corrector;
  readonly codec: Codec;
  readonly #resource: Resource;
  epoch = 1_000;
  /** Whether the API server has listed. */
  isCurrent = true;
  #version = 0;

  constructor(codec: Codec, resource: Resource = ENDPOINT_SLICES) {
    this.codec = codec;
    this.#resource = resource;
    const { reachability, clock, runtime } = this;
    this.local = new LocalRuntime({
      socket: '/run/cri.sock',
      runtime,
      reachability,
      clock,
      nodeName: OWN,
      logger: this.log.logger,
      epoch: () => this.epoch,
    });
    const isCurrent = () => this.isCurrent;
    this.corrector = this.local.add({ next: this.passed, codec, resource, isCurrent });
  }

  /** The API server sends an object. */
  send(name: string, words: readonly Word[]): ObjectBytes {
    const object = this.#encode(name, words);
    const facts = this.codec.endpoints(this.#resource, object);
    const key = `default/${name}`;
    const type = this.passed.objects.has(key) ? 'MODIFIED' : 'ADDED';
    this.corrector.onChanges([{ type, key, facts, object }]);
    return object;
  }

  delete(name: string): void {
    this.corrector.onChanges([{ type: 'DELETED', key: `default/${name}` }]);
  }

  /** Lets the time pass, and the calls of the runtime answer. */
  async pass(ms: number): Promise<void> {
    await settle();
    this.clock.pass(ms);
    await settle();
  }

  /** Cuts the node off for long enough. */
  async cutOff(): Promise<void> {
    this.reachability.set(true);
    await this.pass(GRACE_MS);
  }

  /** The endpoints that were passed on, by object: `pod address`, `pod address -` if not ready. */
  shown(): Record<string, string[]> {
    const shown: Record<string, string[]> = {};
    for (const [key, object] of this.passed.objects) {
      const endpoints: string[] = [];
      for (const node of [OWN, 'edge-2']) {
        const pods = podEndpoints(this.codec.endpointGroups(this.#resource, object), node);
        for (const { pod, address, state } of pods) {
          endpoints.push(`${pod.name} ${address}${state === 'ready' ? '' : ' -'}`);
        }
      }
      shown[key.replace('default/', '')] = endpoints;
    }
    return shown;
  }

  #encode(name: string, words: readonly Word[]): ObjectBytes {
    const labels = { 'kubernetes.io/service-name': 'web' };
    const resourceVersion = String(++this.#version);
    const metadata = { name, namespace: 'default', uid: name, resourceVersion, labels };
    const ports = [{ name: 'http', protocol: 'TCP', port: 80 }];
    const { encoding } = this.codec;
    if (this.#resource === ENDPOINTS) {
      const of = (wanted: boolean) =>
        words.filter(({ ready = true }) => ready === wanted).map(addressOf);
      const subset = { addresses: of(true), notReadyAddresses: of(false), ports };
      return encodeObject(encoding, 'Endpoints', { metadata, subsets: [subset] });
    }
    const endpoints = words.map(endpointOf);
    const slice = { metadata, endpoints, ports, addressType: 'IPv4' };
    return encodeObject(encoding, 'EndpointSlice', slice);
  }
}

function refTo(pod: string) {
  return { kind: 'Pod', namespace: 'default', name: pod, uid: `uid-${pod}` };
}

function addressOf({ pod, ip, node = OWN }: Word) {
  return { ip, nodeName: node, targetRef: refTo(pod) };
}

function endpointOf({ pod, ip, ready = true, node = OWN }: Word) {
  return {
    addresses: [ip],
    conditions: { ready, serving: ready, terminating: false },
    nodeName: node,
    targetRef: refTo(pod),
  };
}

/** The fake runtime answers within some turns of the microtask queue. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
