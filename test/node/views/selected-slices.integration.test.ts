import { isDeepStrictEqual } from 'node:util';
import { beforeEach, test } from '@jest/globals';
import fc from 'fast-check';
import { request } from 'undici';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { putService, putSlice, type SmallEndpoint } from '../../support/wrapper/small-cluster.ts';
import { useCluster, useWrapper } from '../../support/wrapper/use.ts';

/*
 * A decision needs all slices of a Service. A client that selects some of them by label or name must see of these what
 * every other client sees. Before, such a view decided about the selected slices alone: with a near endpoint in part-2,
 * `metadata.name=part-1` showed the far endpoints of part-1.
 */

const PATH = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const HOST = 'kubernetes.io/hostname';
const NEAR = { ip: '10.0.0.1', node: 'edge-1' };
const FAR = { ip: '10.0.0.3', node: 'edge-3' };

let server: ApiServer;
let proxy: NodeProxy;
let upstream: string;

beforeEach(async () => {
  server = useCluster({ tls: undefined });
  putService(server, 'web', [HOST, '*']);
  upstream = await server.listen();
  proxy = await useWrapper(upstream);
});

function put(name: string, labels: Record<string, string>, endpoints: SmallEndpoint[]): void {
  putSlice(server, name, 'web', endpoints, labels);
}

interface Item {
  readonly metadata: { readonly name: string; readonly labels: Record<string, string> };
  readonly endpoints: readonly { readonly addresses: readonly string[] }[];
}

/** Addresses that are shown, by slice; or the code of a refusal. */
async function list(
  query: Record<string, string> = {},
  url = proxy.url,
): Promise<Record<string, string[]> | number> {
  const { statusCode, body } = await request(`${url}${PATH}?${new URLSearchParams(query)}`);
  const { items } = (await body.json()) as { items: Item[] };
  if (statusCode !== 200) return statusCode;
  return Object.fromEntries(items.map((item) => [item.metadata.name, addressesOf(item)]));
}

function addressesOf({ endpoints }: Item): string[] {
  return endpoints.flatMap(({ addresses }) => addresses);
}

/** How the view of a query differs from the whole view without what the API server does not select. */
async function differenceOf(query: Record<string, string>): Promise<string> {
  const [whole, view, selected] = [await list(), await list(query), await list(query, upstream)];
  // The wrapper may refuse what the API server can evaluate, never the reverse.
  if (view === 400) return 'none';
  if (typeof selected === 'number' || typeof whole === 'number') return `refused: ${selected}`;
  const names = Object.keys(selected);
  const expected = Object.fromEntries(names.map((name) => [name, whole[name]]));
  return isDeepStrictEqual(view, expected) ? 'none' : JSON.stringify({ view, expected });
}

const anySlice = fc.record({
  part: fc.constantFrom('one', 'two', ''),
  endpoints: fc.subarray([NEAR, { ...FAR, ready: false }, { ip: '10.0.0.2', node: 'edge-2' }]),
});
const QUERIES = [
  ...[
    'part',
    '!part',
    'part=one',
    'part!=one',
    'part in (one,two)',
    'part notin (two)',
    'part gt 0',
  ],
  ...['kubernetes.io/service-name=web', '!service.kubernetes.io/headless,part=two'],
].map((labelSelector): Record<string, string> => ({ labelSelector }));
QUERIES.push(
  { fieldSelector: 'metadata.name=s-0' },
  { fieldSelector: 'metadata.name!=s-1', labelSelector: 'part' },
  { fieldSelector: 'x=y' },
);

test('a view with any selector is refused, or is the whole view without the other slices', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anySlice, { maxLength: 3 }), async (slices) => {
      for (const name of ['s-0', 's-1', 's-2']) {
        if (server.get('endpointslices', name) !== undefined) server.delete('endpointslices', name);
      }
      for (const [index, { part, endpoints }] of slices.entries()) {
        put(`s-${index}`, part === '' ? {} : { part }, endpoints);
      }
      for (const query of QUERIES) await eventually(() => differenceOf(query), 'none');
    }),
    { numRuns: propertyRuns(50) },
  );
});
