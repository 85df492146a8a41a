import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Change } from '../../../src/filter/codec/change.ts';
import type { ServiceFacts } from '../../../src/filter/codec/codec.ts';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import { SERVICES } from '../../../src/filter/codec/resource.ts';
import { ServicesProjection } from '../../../src/filter/projection/services-projection.ts';
import { VersionClock } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import { World } from '../../../src/topology/state/topology.ts';
import { PLAIN_WORLD } from '../../support/projection/topology.ts';

const codec = createJsonCodec();
const window = { entries: 1000, bytes: 1 << 20 };

let world: World;
let view: View;
let projection: ServicesProjection;

beforeEach(() => {
  world = new World({ ...PLAIN_WORLD, nodeName: 'own' });
  view = new View({ resource: SERVICES, codec, clock: new VersionClock(0), window });
  const serviceFilter = { label: 'mesh', hides: 'labelled' } as const;
  projection = new ServicesProjection({ view, world, serviceFilter, followsWithheld: false });
  switchNode('on');
  world.setSynced('services');
  projection.synced();
});

function switchNode(value: 'on' | 'off'): void {
  const annotations = new Map([['kube-proxy-wrapper.io/filter', value]]);
  world.setOwnNode({ labels: new Map(), annotations });
}

function service(name: string, labels: Record<string, string>): Change<ServiceFacts> {
  const metadata = { namespace: 'default', name, uid: name, resourceVersion: '1', labels };
  const object = Buffer.from(JSON.stringify({ metadata, spec: {} }));
  return { type: 'ADDED', key: `default/${name}`, facts: codec.service(object), object };
}

function shown(): string[] {
  return view.snapshot().items.map((item) => codec.meta(item).name);
}

describe('a Service that the world does not know', () => {
  test('is hidden by its own label, but not on a node that is switched off', () => {
    projection.changed([service('web', {}), service('mesh', { mesh: '' })]);
    expect(shown()).toEqual(['web']);
    switchNode('off');
    expect(shown()).toEqual(['web', 'mesh']);
    switchNode('on');
    expect(shown()).toEqual(['web']);
  });

  test('that is hidden and deleted is not heard of', () => {
    projection.changed([service('mesh', { mesh: '' })]);
    projection.changed([{ type: 'DELETED', key: 'default/mesh' }]);
    switchNode('off');
    expect(view.log.end).toBe(0);
  });
});

test('a Service that is deleted before all is known is not among the first', () => {
  world = new World({ ...PLAIN_WORLD, nodeName: 'own' });
  view = new View({ resource: SERVICES, codec, clock: new VersionClock(0), window });
  const options = { view, world, serviceFilter: undefined, followsWithheld: false };
  projection = new ServicesProjection(options);
  projection.changed([service('web', {}), service('db', {})]);
  projection.synced();
  projection.changed([{ type: 'DELETED', key: 'default/db' }]);
  switchNode('on');
  expect(view.started).toBe(false);
  world.setSynced('services');
  expect(shown()).toEqual(['web']);
});

test('a Service can be looked up, hidden or not', () => {
  projection.changed([service('web', {}), service('mesh', { mesh: '' })]);
  expect(shown()).toEqual(['web']);
  for (const name of ['web', 'mesh']) {
    const object = projection.find(`default/${name}`);
    expect(object && codec.meta(object).name).toBe(name);
  }
  expect(projection.find('default/none')).toBeUndefined();
});

test('a Service whose first policy waits for node sets is seen once they are known', () => {
  world.setOwnNode({ labels: new Map([['site', 'a']]), annotations: new Map() });
  const policy = { managed: true, keys: ['site'], source: 'default' } as const;
  world.setPolicies(new Map([['default/web', policy]]));
  projection.changed([service('web', {})]);
  expect(shown()).toEqual([]);
  world.setNodeSetState('site=a');
  expect(shown()).toEqual(['web']);
});

test('a dry run shows a Service whose first policy waits; its end hides it again', () => {
  world.setOwnNode({ labels: new Map([['site', 'a']]), annotations: new Map() });
  const policy = { managed: true, keys: ['site'], source: 'default' } as const;
  world.setPolicies(new Map([['default/web', { ...policy, dryRun: true }]]));
  projection.changed([service('web', {})]);
  expect(shown()).toEqual(['web']);
  world.setPolicies(new Map([['default/web', policy]]));
  expect(shown()).toEqual([]);
  world.setPolicies(new Map([['default/web', { ...policy, dryRun: true }]]));
  expect(shown()).toEqual(['web']);
});

describe('a withheld Service that the world loses', () => {
  const withhold = (withheld: boolean) => world.setWithheld(new Map([['default/web', withheld]]));
  const policy = { managed: true, keys: ['kubernetes.io/hostname'], source: 'default' } as const;

  beforeEach(() => {
    world.setPolicies(new Map([['default/web', policy]]));
    withhold(true);
    projection.changed([service('web', {})]);
  });

  function lose(): void {
    world.setPolicies(new Map([['default/web', undefined]]));
    withhold(false);
  }

  test('stays hidden where its end has yet to be heard', () => {
    lose();
    expect(shown()).toEqual([]);
    projection.changed([{ type: 'DELETED', key: 'default/web' }]);
    expect(view.log.end).toBe(0);
  });

  // kube-proxy does not ask for it any more, but whoever asks for all Services does.
  test.each([
    ['before', true],
    ['after', false],
  ])(
    'comes back if it is labelled as another proxy\u2019s, heard of %s the world',
    (_when, first) => {
      const labelled = service('web', { 'service.kubernetes.io/service-proxy-name': 'mesh' });
      if (first) projection.changed([labelled]);
      lose();
      if (!first) projection.changed([labelled]);
      expect(shown()).toEqual(['web']);
    },
  );
});

test('a Service that becomes another proxy\u2019s in the batch that shows it is not left there', () => {
  projection.changed([service('web', {}), service('web', { mesh: '' })]);
  expect(shown()).toEqual([]);
  switchNode('off');
  expect(shown()).toEqual(['web']);
});

// The own labels wait for the nodes of one Service, and the first policy of another for the own labels.
test('a Service that the change of another one lets come is seen at once', () => {
  const setKeys = (name: string, key: string) =>
    world.setPolicies(
      new Map([[`default/${name}`, { managed: true, keys: [key], source: 'default' }]]),
    );
  let feed = () => {};
  view = new View({ resource: SERVICES, codec, clock: new VersionClock(0), window });
  const options = { view, world, serviceFilter: undefined, followsWithheld: false };
  projection = new ServicesProjection({
    ...options,
    feed: { changed: () => feed(), synced: () => {} },
  });
  world.setOwnNode({ labels: new Map([['site', 'a']]), annotations: new Map() });
  setKeys('web', 'rack');
  projection.synced();
  projection.changed([service('web', {})]);
  world.setOwnNode({ labels: new Map([['rack', 'r']]), annotations: new Map() });
  setKeys('db', 'site');
  projection.changed([service('db', {})]);
  expect(shown()).toEqual(['web']);
  feed = () => setKeys('web', '*');
  projection.changed([service('web', {})]);
  expect(shown()).toEqual(['web', 'db']);
});

test('nothing is heard after the end', () => {
  projection.changed([service('mesh', { mesh: '' })]);
  projection.close();
  switchNode('off');
  expect(shown()).toEqual([]);
});
