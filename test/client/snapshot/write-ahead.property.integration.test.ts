import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { request } from 'undici';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { decodeSnapshot } from '../../../src/client/snapshot/snapshot-format.ts';
import { decodeStream } from '../../support/codec/decode-stream.ts';
import { eventually } from '../../support/eventually.ts';
import { ACCEPT, CODECS } from '../../support/guarantees/watch-recorder.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { createSmallCluster } from '../../support/wrapper/small-cluster.ts';
import { PATHS, useState } from '../../support/wrapper/state-fixture.ts';
import { startWrapper } from '../../support/wrapper/wrapper-fixture.ts';

jest.setTimeout(120_000);

const NODE = 'edge-1';
const WATCH = 'watch=true&resourceVersion=0';
const KINDS = ['address', 'pod range', 'deleted', 'created', 'label'] as const;
type Kind = (typeof KINDS)[number];

/** Changes that arrive together, if the API server is fast. */
const history = fc.array(fc.array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 8,
});

/** Each change that ends a kube-proxy takes the next number, which is in the Node. */
function play(server: ApiServer, kind: Kind, count: number): void {
  const node = server.get('nodes', NODE);
  const base = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: NODE, labels: { site: 'a' } },
    spec: { podCIDRs: [`10.${count}.0.0/24`] },
    status: { addresses: [{ type: 'InternalIP', address: `10.0.0.1` }] },
  };
  if (node === undefined) {
    if (kind !== 'deleted') server.create('nodes', base);
  } else if (kind === 'deleted') {
    server.delete('nodes', NODE);
  } else if (kind === 'address') {
    const addresses = [{ type: 'InternalIP', address: `10.0.0.${count}` }];
    server.update('nodes', { ...node, status: { addresses } });
  } else if (kind === 'pod range') {
    server.update('nodes', { ...node, spec: { podCIDRs: [`10.${count}.0.0/24`] } });
  } else {
    const labels = { site: 'a', count: String(count) };
    server.update('nodes', { ...node, metadata: { ...node.metadata, labels } });
  }
}

const NO_NODE = 'no Node';

/** The identity of the Node at the API server. */
function identityAt(server: ApiServer): string {
  const node = server.get('nodes', NODE);
  if (node === undefined) return NO_NODE;
  return CODECS.json.ownNode(Buffer.from(JSON.stringify(node))).identity;
}

function identityOnDisk(folder: string): string {
  const file = readdirSync(folder).find((name) => /^nodes-.*\.snapshot$/.test(name));
  if (file === undefined) return 'nothing';
  const [node] = decodeSnapshot(readFileSync(join(folder, file))).objects;
  return node === undefined ? NO_NODE : CODECS.protobuf.ownNode(node).identity;
}

test('kube-proxy sees no Node that it would end at before this Node, or a later one, is on disk', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const server = createSmallCluster();
      // Other changes are not written meanwhile.
      const state = { ...useState(), quietMs: 60_000, unrestMs: 60_000 };
      const proxy = await startWrapper(await server.listen(), { state });
      const identities = [identityAt(server)];
      const shown: { readonly identity: string; readonly onDisk: string }[] = [];
      const client = new AbortController();
      const { body } = await request(`${proxy.url}${PATHS.nodes}&${WATCH}`, {
        headers: { accept: ACCEPT.protobuf },
        signal: client.signal,
      });
      const read = decodeStream(CODECS.protobuf.watchDecoder(1 << 24), body, (events) => {
        const onDisk = identityOnDisk(state.folder);
        for (const event of events) {
          if (event.type === 'BOOKMARK' || event.type === 'ERROR') continue;
          const { identity } = CODECS.protobuf.ownNode(event.object);
          shown.push({ identity: event.type === 'DELETED' ? NO_NODE : identity, onDisk });
        }
      });
      try {
        let count = 0;
        for (const together of steps) {
          for (const kind of together) {
            count++;
            play(server, kind, count + 1);
            identities.push(identityAt(server));
          }
          await eventually(() => shown.at(-1)?.identity, identities.at(-1));
        }
      } finally {
        client.abort();
        await read.catch(() => undefined);
        await proxy.close();
        await server.close();
      }
      let position = 0;
      for (const { identity, onDisk } of shown) {
        position = identities.indexOf(identity, position);
        expect(position).toBeGreaterThanOrEqual(0);
        expect(identities.lastIndexOf(onDisk)).toBeGreaterThanOrEqual(position);
      }
    }),
    { numRuns: propertyRuns(20) },
  );
});
