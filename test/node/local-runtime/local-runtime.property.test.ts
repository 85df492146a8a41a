import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ObjectBytes } from '../../../src/filter/codec/codec.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../../../src/filter/objects/resource.ts';
import { CODECS } from '../../support/codec/codec-fixtures.ts';
import { CorrectedNode, OWN, type Word } from '../../support/local-runtime/corrected-node.ts';
import type { FakeSandbox } from '../../support/local-runtime/fake-runtime.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const PODS = ['a', 'b', 'c'];
const OBJECTS = ['web', 'db', 'far'];
/** Few, so that Pods take over addresses of others. */
const IPS = ['10.1.0.1', '10.1.0.2', '10.1.0.3'];

type Step =
  | { readonly kind: 'send'; readonly name: string; readonly words: readonly Word[] }
  | { readonly kind: 'delete'; readonly name: string }
  | { readonly kind: 'sandboxes'; readonly sandboxes: readonly FakeSandbox[] }
  | { readonly kind: 'line'; readonly isDown: boolean }
  | { readonly kind: 'runtime'; readonly fails: boolean }
  | { readonly kind: 'pass'; readonly ms: number };

const words = fc.uniqueArray(
  fc.record({
    pod: fc.constantFrom(...PODS),
    ip: fc.constantFrom(...IPS),
    ready: fc.boolean(),
    node: fc.constantFrom(OWN, OWN, 'edge-2'),
  }),
  { selector: ({ pod }) => pod, maxLength: 3 },
);

/** Each Pod has at most one sandbox that is ready per attempt. */
const sandboxes = fc
  .uniqueArray(
    fc.record({
      pod: fc.constantFrom(...PODS),
      attempt: fc.nat(2),
      ready: fc.boolean(),
      isHostNetwork: fc.constantFrom(false, false, true),
      ip: fc.constantFrom(...IPS),
    }),
    { selector: ({ pod, attempt }) => `${pod}${attempt}`, maxLength: 5 },
  )
  .map((all) =>
    all.map(
      ({ pod, attempt, ready, isHostNetwork, ip }): FakeSandbox => ({
        // The address of a sandbox never changes.
        id: `${pod}-${attempt}-${ip}-${isHostNetwork}`,
        pod,
        attempt,
        ready,
        isHostNetwork,
        addresses: isHostNetwork ? [] : [ip],
      }),
    ),
  );

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('send'), name: fc.constantFrom(...OBJECTS), words }),
  fc.record({ kind: fc.constant('delete'), name: fc.constantFrom(...OBJECTS) }),
  fc.record({ kind: fc.constant('sandboxes'), sandboxes }),
  fc.record({ kind: fc.constant('line'), isDown: fc.boolean() }),
  fc.record({ kind: fc.constant('runtime'), fails: fc.constantFrom(false, false, true) }),
  fc.record({ kind: fc.constant('pass'), ms: fc.constantFrom(1_000, 5_000, 40_000) }),
);

/** The model: what the API server and the runtime say, without any order of events. */
class Model {
  readonly words = new Map<string, readonly Word[]>();
  readonly sent = new Map<string, ObjectBytes>();
  sandboxes: readonly FakeSandbox[] = [];

  /** What kube-proxy must see of an object while the node is cut off. */
  corrected(name: string): string[] {
    return (this.words.get(name) ?? []).flatMap((word) => {
      const { pod, ip, ready = true, node } = word;
      if (node !== OWN) return [text(pod, ip, ready)];
      const sandbox = this.#current(pod);
      if (sandbox === undefined) return this.#isTaken(word) ? [] : [text(pod, ip, false)];
      return [text(pod, sandbox.addresses?.[0] ?? ip, ready)];
    });
  }

  /** The sandbox of a Pod that is ready, of the last attempt. */
  #current(pod: string): FakeSandbox | undefined {
    const ready = this.sandboxes.filter((each) => each.pod === pod && each.ready);
    return ready.toSorted((x, y) => (y.attempt ?? 0) - (x.attempt ?? 0))[0];
  }

  #isTaken({ pod, ip }: Word): boolean {
    const own = [...this.words.values()].flat().filter(({ node }) => node === OWN);
    return own.some(
      (other) => other.pod !== pod && this.#current(other.pod)?.addresses?.[0] === ip,
    );
  }
}

function text(pod: string, ip: string, ready: boolean): string {
  return `${pod} ${ip}${ready ? '' : ' -'}`;
}

async function apply(node: CorrectedNode, model: Model, each: Step): Promise<void> {
  switch (each.kind) {
    case 'send':
      model.words.set(each.name, each.words);
      model.sent.set(each.name, node.send(each.name, each.words));
      break;
    case 'delete':
      if (!model.words.delete(each.name)) break;
      model.sent.delete(each.name);
      node.delete(each.name);
      break;
    case 'sandboxes':
      model.sandboxes = each.sandboxes;
      node.runtime.sandboxList = each.sandboxes;
      break;
    case 'line':
      node.reachability.set(each.isDown);
      break;
    case 'runtime':
      node.runtime.error = each.fails ? new Error('gone') : undefined;
      break;
    case 'pass':
      await node.pass(each.ms);
  }
}

function assertAsSent(node: CorrectedNode, model: Model): void {
  for (const [name, object] of model.sent) {
    expect(node.passed.objects.get(`default/${name}`)).toBe(object);
  }
}

async function assertCorrected(node: CorrectedNode, model: Model): Promise<void> {
  // Longer than any wait of the follower.
  await node.pass(5_000);
  await node.pass(5_000);
  const shown = node.shown();
  for (const [name, sent] of model.sent) {
    expect(shown[name]?.toSorted()).toEqual(model.corrected(name).toSorted());
    const isLocal = model.words.get(name)?.some((word) => word.node === OWN) === true;
    if (!isLocal) expect(node.passed.objects.get(`default/${name}`)).toBe(sent);
  }
}

describe.each(
  CODECS.flatMap((codec) => [ENDPOINT_SLICES, ENDPOINTS].map((resource) => ({ codec, resource }))),
)('local truth ($codec.encoding, $resource.kind)', ({ codec, resource }) => {
  test('what is shown equals the model after any history', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30, size: 'max' }), (steps) =>
        run(steps, resource),
      ),
      { numRuns: propertyRuns(400) },
    );
  });

  async function run(steps: readonly Step[], kind: Resource): Promise<void> {
    const node = new CorrectedNode(codec, kind);
    const model = new Model();
    for (const each of steps) {
      await apply(node, model, each);
      const { state } = node.local;
      expect([...node.passed.objects.keys()].length).toBe(model.sent.size);
      if (state === 'connected') assertAsSent(node, model);
      const isRead = node.runtime.error === undefined;
      if (state === 'cutOff' && isRead) await assertCorrected(node, model);
    }
    node.reachability.set(false);
    await node.pass(30_000);
    assertAsSent(node, model);
    expect(node.corrector.corrections(10)).toEqual([]);
    expect(node.passed.redundant).toBe(0);
    node.local.close();
    const { clock, reachability, runtime } = node;
    expect([clock.waiting, reachability.listeners, runtime.closed]).toEqual([0, 0, true]);
  }
});
