import { expect, test } from '@jest/globals';
import { JsonCodec } from '../../../src/filter/codec/json/json-codec.ts';
import {
  CommunitiesHandler,
  communityFacts,
} from '../../../src/node/own-watches/communities-handler.ts';
import type { Communities } from '../../../src/topology/state/topology.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { PLAIN_TOPOLOGY } from '../../support/topology/plain-topology.ts';

const codec = new JsonCodec();

function facts(spec: unknown) {
  const metadata = { name: 'red', uid: 'u', resourceVersion: '1' };
  return communityFacts(codec, Buffer.from(JSON.stringify({ metadata, spec })));
}

/** The communities that are set in the topology, in order. */
function createHandler(): { handler: CommunitiesHandler; notified: Record<string, string[]>[] } {
  const notified: Record<string, string[]>[] = [];
  const topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'own', declaredCommunities: true });
  topology.setCommunities = (communities: Communities) => {
    notified.push(Object.fromEntries([...communities].map(([name, nodes]) => [name, [...nodes]])));
  };
  return { handler: new CommunitiesHandler(topology, 'here'), notified };
}

test.each([
  [{ members: ['here.a', 'b'] }, ['here.a', 'b']],
  [{ members: ['a', 7, null, ['x']] }, ['a']],
  [{ members: 'a' }, []],
  [{}, []],
  [undefined, []],
])('the spec %j has the members %j', (spec, members) => {
  expect(facts(spec).members).toEqual(members);
});

test('the nodes of this cluster count, a node’s name may have dots', () => {
  const { handler: communities, notified } = createHandler();
  const object = Buffer.alloc(0);
  const members = ['here.a', 'here.b.c', 'hereafter.d', 'there.e', 'f', 'here.'];
  communities.onChanges([
    { type: 'ADDED', key: 'red', object, facts: facts({ members }) },
    { type: 'ADDED', key: 'blue', object, facts: facts({ members: ['there.a'] }) },
  ]);
  expect(notified).toEqual([{ red: ['a', 'b.c', ''], blue: [] }]);
  communities.onChanges([{ type: 'DELETED', key: 'red' }]);
  expect(notified.at(-1)).toEqual({ blue: [] });
});
