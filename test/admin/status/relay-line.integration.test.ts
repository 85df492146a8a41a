import { expect, test } from '@jest/globals';
import { writeServingFiles } from '../../../harness/certificates.ts';
import { TimeSlice } from '../../../src/admin/explain/time-slice.ts';
import { KernelRules } from '../../../src/admin/status/kernel-rules.ts';
import { nodeStatus } from '../../../src/admin/status/node-status.ts';
import { NodeReader } from '../../../src/diagnosis/reading/node-reading.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { behind, useRelayOf } from '../../support/relay/relay-fixture.ts';
import { useFolder } from '../../support/use-folder.ts';
import { useCluster, useWrapper } from '../../support/wrapper/use.ts';

/** The relay that a node reads from, and what the lines about it say. */
async function relayOf(proxy: NodeProxy) {
  const reader = new NodeReader(proxy);
  const slice = new TimeSlice(new AbortController().signal);
  const { relay, lines } = await nodeStatus(reader, new KernelRules(reader), slice);
  return [
    relay,
    ...lines.flatMap(({ id, text, detail }) => (id === 'relay' ? [text, detail] : [])),
  ];
}

// Whatever was wrong with a relay, its nodes were all well, and nothing said that none of them used it.
test('status names the relay of a node, and warns of a node that does not use it', async () => {
  const api = await useCluster().listen();
  const files = await writeServingFiles(useFolder());
  const relay = await useRelayOf(api, files);
  const node = await useWrapper(api, behind(api, files, relay));
  await eventually(() => relayOf(node), [new URL(relay.url).host]);
  await relay.close();
  const unused = 'this node reads from the API server, although there is a relay';
  const cause = expect.stringContaining('ECONNREFUSED');
  await eventually(() => relayOf(node), [undefined, unused, cause]);
  expect(await relayOf(await useWrapper(api))).toEqual([undefined]);
});
