import { expect, test } from '@jest/globals';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import {
  CommunitiesHandler,
  communityFacts,
} from '../../../src/proxy/cluster/communities-handler.ts';
import type { Communities } from '../../../src/topology/state/topology.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { PLAIN_TOPOLOGY } from '../../support/projection/topology.ts';

const codec = createJsonCodec();

function facts(spec: unknown) {
  const metadata = { name: 'red', uid: 'u', resourceVersion: '1' };
  return communityFacts(codec, Buffer.from(JSON.stringify({ metadata, spec })));
}

/** The communities that the world is told, one after the other. */
function feed(): { feed: CommunitiesHandler; told: Record<string, string[]>[] } {
  const told: Record<string, string[]>[] = [];
  const topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'own', declaredCommunities: true });
  topology.setCommunities = (communities: Communities) => {
    told.push(Object.fromEntries([...communities].map(([name, nodes]) => [name, [...nodes]])));
  };
  return { feed: new CommunitiesHandler(topology, 'here'), told };
}

test.each([
  [{ members: ['here.a', 'b'] }, ['here.a', 'b']],
  [{ members: ['a', 7, null, ['x']] }, ['a']],
  [{ members: 'a' }, []],
  [{}, []],
  [undefined, []],
])('of the spec %j the members are %j', (spec, members) => {
  expect(facts(spec).members).toEqual(members);
});

test('the nodes of this cluster count, a node’s name may have dots', () => {
  const { feed: communities, told } = feed();
  const object = Buffer.alloc(0);
  const members = ['here.a', 'here.b.c', 'hereafter.d', 'there.e', 'f', 'here.'];
  communities.onChanges([
    { type: 'ADDED', key: 'red', object, facts: facts({ members }) },
    { type: 'ADDED', key: 'blue', object, facts: facts({ members: ['there.a'] }) },
  ]);
  expect(told).toEqual([{ red: ['a', 'b.c', ''], blue: [] }]);
  communities.onChanges([{ type: 'DELETED', key: 'red' }]);
  expect(told.at(-1)).toEqual({ blue: [] });
});

test('that there is none is told too', () => {
  const { feed: communities, told } = feed();
  communities.onSynced();
  expect(told).toEqual([{}]);
});
