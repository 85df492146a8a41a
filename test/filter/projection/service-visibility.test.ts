import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ServiceFacts } from '../../../src/filter/codec/codec.ts';
import { JsonCodec } from '../../../src/filter/codec/json/json-codec.ts';
import type { Change } from '../../../src/filter/objects/change.ts';
import { SERVICES } from '../../../src/filter/objects/resource.ts';
import { Batches, type ViewHandler } from '../../../src/filter/projection/batch.ts';
import type { ObjectsProjection } from '../../../src/filter/projection/objects-projection.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { servicesProjection } from '../../support/projection/services-projection.ts';
import { PLAIN_TOPOLOGY } from '../../support/topology/plain-topology.ts';

const codec = new JsonCodec();
const NONE = { managed: false, reason: 'no-policy' } as const;
const window = { entries: 1000, bytes: 1 << 20 };

let topology: Topology;
let view: View;
let batches: Batches;
let projection: ObjectsProjection<ServiceFacts>;
let handler: ViewHandler<ServiceFacts>;

beforeEach(() => {
  begin();
  open();
  switchNode('on');
  topology.setSynced('services');
  handler.onSynced();
});

function begin(): void {
  topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'own' });
  batches = new Batches(topology);
}

/** Opens another view of the topology. @param onFeed default: no Service has a policy */
function open({ followsWithheld = false, onFeed = setUnmanaged } = {}): void {
  view = new View({ resource: SERVICES, codec, versions: new VersionAllocator(0), window });
  const serviceFilter = { label: 'mesh', hides: 'labelled' } as const;
  const feed = { onChanges: onFeed, onSynced: () => {} };
  ({ projection, handler } = servicesProjection({
    view,
    topology,
    batches,
    serviceFilter,
    followsWithheld,
    feed,
  }));
}

/** As the topology does with Services without an annotation. */
function setUnmanaged(changes: readonly Pick<Change, 'key' | 'type'>[]): void {
  const policies = changes.map(
    ({ key, type }) => [key, type === 'DELETED' ? undefined : NONE] as const,
  );
  topology.setPolicies(new Map(policies));
}

function switchNode(value: 'on' | 'off'): void {
  const annotations = new Map([['kube-proxy-wrapper.io/filter', value]]);
  topology.setOwnNode({ labels: new Map(), annotations });
}

function service(
  name: string,
  labels: Record<string, string> = {},
  clusterIP = '',
): Change<ServiceFacts> {
  const metadata = { namespace: 'default', name, uid: name, resourceVersion: '1', labels };
  const object = Buffer.from(JSON.stringify({ metadata, spec: { clusterIP } }));
  return { type: 'ADDED', key: `default/${name}`, facts: codec.service(object), object };
}

function shown(): string[] {
  return view.state().items.map((item) => codec.meta(item).name);
}

describe('a Service that the topology does not know', () => {
  beforeEach(() => open({ onFeed: () => {} }));

  // It may read Services by another watch than this view. Slices of an unknown Service are all shown.
  test('is hidden until it does, and again when it is gone', () => {
    handler.onSynced();
    handler.onChanges([service('web')]);
    expect(shown()).toEqual([]);
    topology.setPolicies(new Map([['default/web', NONE]]));
    expect(shown()).toEqual(['web']);
    topology.setPolicies(new Map([['default/web', undefined]]));
    expect(shown()).toEqual([]);
  });

  test('is shown if no query of the topology need contain it', () => {
    handler.onSynced();
    const name = { 'service.kubernetes.io/service-proxy-name': 'mesh' };
    const headless = { 'service.kubernetes.io/headless': '' };
    handler.onChanges([
      service('other', name),
      service('marked', headless),
      service('none', {}, 'None'),
    ]);
    expect(shown()).toEqual(['marked', 'none', 'other']);
  });
});

describe('a Service that the settings leave to another proxy', () => {
  test('is hidden by its own label, but not on a node that is switched off', () => {
    handler.onChanges([service('web'), service('mesh', { mesh: '' })]);
    expect(shown()).toEqual(['web']);
    switchNode('off');
    expect(shown()).toEqual(['mesh', 'web']);
    switchNode('on');
    expect(shown()).toEqual(['web']);
  });

  test('that is hidden and deleted causes no event', () => {
    handler.onChanges([service('mesh', { mesh: '' })]);
    handler.onChanges([{ type: 'DELETED', key: 'default/mesh' }]);
    switchNode('off');
    expect(view.log.end).toBe(0);
  });
});

test('a Service that is deleted before all is known is not among the first', () => {
  begin();
  open();
  handler.onChanges([service('web'), service('db')]);
  handler.onSynced();
  handler.onChanges([{ type: 'DELETED', key: 'default/db' }]);
  switchNode('on');
  expect(view.started).toBe(false);
  topology.setSynced('services');
  expect(shown()).toEqual(['web']);
});

test('a Service can be looked up, hidden or not, and before the view is open', () => {
  begin();
  open({ followsWithheld: true });
  handler.onChanges([service('web'), service('mesh', { mesh: '' })]);
  handler.onSynced();
  expect(view.started).toBe(false);
  for (const name of ['web', 'mesh']) {
    const object = projection.find(`default/${name}`);
    expect(object && codec.meta(object).name).toBe(name);
  }
  expect(projection.find('default/none')).toBeUndefined();
});

test('Services that are hidden do not keep the list in which they were', () => {
  handler.onChanges(Array.from({ length: 100 }, (_, n) => service(`web-${n}`)));
  expect(view.state().list.bytes).toBeGreaterThan(5_000);
  const { buffer } = view.get('default/web-7') as Buffer;
  topology.setPolicies(new Map([['default/web-7', { managed: false, reason: 'other-proxy' }]]));
  projection.hide(['default/web-7']);
  expect(view.get('default/web-7')).toBeUndefined();
  const hidden = projection.find('default/web-7');
  expect(hidden && codec.meta(hidden).name).toBe('web-7');
  expect(hidden?.buffer).not.toBe(buffer);
});

describe('a withheld Service that the topology no longer has', () => {
  const setWithheld = (withheld: boolean) => {
    topology.setWithheld(new Map([['default/web', withheld]]));
    projection.hide(['default/web']);
    projection.show(['default/web']);
  };
  const policy = { managed: true, keys: ['kubernetes.io/hostname'], source: 'default' } as const;

  beforeEach(() => {
    open({ onFeed: () => {} });
    handler.onSynced();
    topology.setPolicies(new Map([['default/web', policy]]));
    setWithheld(true);
    handler.onChanges([service('web')]);
  });

  function removeFromTopology(): void {
    topology.setPolicies(new Map([['default/web', undefined]]));
    setWithheld(false);
  }

  test('remains hidden in a view that has not received its deletion yet', () => {
    removeFromTopology();
    expect(shown()).toEqual([]);
    handler.onChanges([{ type: 'DELETED', key: 'default/web' }]);
    expect(view.log.end).toBe(0);
  });

  // kube-proxy's query excludes it now, but a query for all Services does not.
  test.each([
    ['before', true],
    ['after', false],
  ])(
    'is shown again if it has the label of another proxy, received %s the topology changes',
    (_when, first) => {
      const labelled = service('web', { 'service.kubernetes.io/service-proxy-name': 'mesh' });
      if (first) handler.onChanges([labelled]);
      removeFromTopology();
      if (!first) handler.onChanges([labelled]);
      expect(shown()).toEqual(['web']);
    },
  );
});

test('a Service that is left to another proxy in the batch that shows it is not left in the view', () => {
  handler.onChanges([service('web'), service('web', { mesh: '' })]);
  expect(shown()).toEqual([]);
  switchNode('off');
  expect(shown()).toEqual(['web']);
});

// The own labels wait for the nodes of one Service, and the first policy of another for the own labels.
test('a Service whose policy becomes active through another Service is shown immediately', () => {
  const setKeys = (name: string, key: string) =>
    topology.setPolicies(
      new Map([[`default/${name}`, { managed: true, keys: [key], source: 'default' }]]),
    );
  let feed = () => {};
  open({ onFeed: () => feed() });
  topology.setOwnNode({ labels: new Map([['site', 'a']]), annotations: new Map() });
  setKeys('web', 'rack');
  handler.onSynced();
  handler.onChanges([service('web')]);
  topology.setOwnNode({ labels: new Map([['rack', 'r']]), annotations: new Map() });
  setKeys('db', 'site');
  handler.onChanges([service('db')]);
  expect(shown()).toEqual(['web']);
  feed = () => setKeys('web', '*');
  handler.onChanges([service('web')]);
  expect(shown()).toEqual(['db', 'web']);
});

describe('the changes of one batch', () => {
  const gone = { type: 'DELETED', key: 'default/web' } as const;
  const events = (from: number) => {
    const types: (string | undefined)[] = [];
    for (let at = from; at < view.log.end; at++) types.push(view.log.at(at)?.type);
    return types;
  };

  test('delete a Service before the topology follows', () => {
    const sizes: number[] = [];
    open({
      onFeed: (changes) => {
        sizes.push(view.size);
        setUnmanaged(changes);
      },
    });
    handler.onSynced();
    handler.onChanges([service('web')]);
    handler.onChanges([gone]);
    expect(sizes).toEqual([0, 0]);
  });

  // When the first is shown, the topology has the last.
  test('show nothing of a Service that they change or add and delete', () => {
    handler.onChanges([service('web')]);
    handler.onChanges([service('web', { a: '' }), gone]);
    handler.onChanges([service('web'), gone]);
    expect(events(1)).toEqual(['DELETED']);
  });
});

test('close() ends all changes', () => {
  handler.onChanges([service('mesh', { mesh: '' })]);
  handler.close();
  switchNode('off');
  expect(shown()).toEqual([]);
});
