import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { poll } from '../../../harness/poll.ts';
import { ensureCoreDns, ensureTraefik } from '../../../harness/versions/components.ts';
import { startCoreDns } from '../../../harness/versions/coredns.ts';
import {
  type HttpsServer,
  type HttpsSite,
  startHttpsSite,
} from '../../../harness/versions/https-site.ts';
import { startSliceClient } from '../../../harness/versions/slice-client.ts';

/*
 * Clients other than kube-proxy read from the wrapper, over https with a ServiceAccount's token. Libraries in other
 * languages are in ../clients.
 */

jest.setTimeout(600_000);

const [NEAR, FAR] = ['10.244.1.5', '10.244.1.6'];

/** What a client has of the two Services of a site. */
interface Client {
  /** Waits until it has just these addresses. */
  sees(services: Readonly<Record<'local' | 'plain', readonly string[]>>): Promise<void>;
  stop(): Promise<void>;
}

interface Row {
  readonly name: string;
  /** It reads headless Services (`headless: true`). */
  readonly headless?: boolean;
  /** What it also reads, which the wrapper forwards to the API server. */
  readonly forwarded?: string;
  start(site: HttpsSite, server: HttpsServer): Promise<Client>;
}

/** Its provider for Ingresses reads Services and EndpointSlices, and Ingresses, which the wrapper does not filter. */
async function startTraefik(site: HttpsSite, server: HttpsServer): Promise<Client> {
  const paths = ['local', 'plain'].map((name) => ({
    path: `/${name}`,
    pathType: 'Prefix',
    backend: { service: { name, port: { number: 80 } } },
  }));
  const ingresses = `/apis/networking.k8s.io/v1/namespaces/${site.namespace}/ingresses`;
  const spec = { rules: [{ http: { paths } }] };
  await site.plane.admin.delete(`${ingresses}/site`);
  await site.plane.admin.create(ingresses, { metadata: { name: 'site' }, spec });
  const { url, caFile } = site.servers[server];
  const command = [await ensureTraefik(), url, caFile, site.token, site.namespace];
  const client = startSliceClient(site.node.netns, `traefik-${server.at(0)}`, command);
  const urls = (addresses: readonly string[]) => addresses.map((ip) => `http://${ip}:8080`);
  return {
    ...client,
    sees: async ({ local, plain }) => client.sees({ local: urls(local), plain: urls(plain) }),
  };
}

/** It resolves the names of headless Services. */
async function startDns(site: HttpsSite, server: HttpsServer): Promise<Client> {
  const dns = await startCoreDns(site.node.netns, await ensureCoreDns(), site.kubeconfig(server));
  const addresses = async (name: string) => await dns.addresses(`${name}.${site.namespace}`);
  return {
    ...dns,
    sees: async ({ local, plain }) => {
      const names = async () => [await addresses('local'), await addresses('plain')];
      const wanted = JSON.stringify([local, plain]);
      await poll(names, (found) => JSON.stringify(found) === wanted, { what: wanted });
    },
  };
}

const rows: readonly Row[] = [
  { name: 'Traefik', forwarded: 'ingresses', start: startTraefik },
  { name: 'CoreDNS', headless: true, start: startDns },
];

describe.each(rows)('$name', ({ headless = false, forwarded, start }) => {
  let site: HttpsSite;
  let client: Client | undefined;

  beforeAll(async () => {
    site = await startHttpsSite('clients', { headless });
  });

  afterEach(async () => {
    await client?.stop();
    client = undefined;
  });

  afterAll(async () => await site?.stop());

  test('has the endpoints of the site, and follows a relabel of its node', async () => {
    const since = Date.now();
    client = await start(site, 'wrapper');
    for (const [label, local] of [
      ['a', [NEAR]],
      ['b', [FAR]],
      [null, []],
      ['a', [NEAR]],
    ] as const) {
      await site.moveTo(label);
      await client.sees({ local, plain: [NEAR, FAR] });
    }
    const { user, plane } = site;
    expect(plane.requests({ user, resource: 'endpointslices', since })).toEqual([]);
    if (forwarded === undefined) return;
    const watches = plane.requests({ user, resource: forwarded, verb: 'watch', since });
    expect(watches.length).toBeGreaterThan(0);
  });

  test('has all endpoints from the API server itself', async () => {
    client = await start(site, 'API server');
    await client.sees({ local: [NEAR, FAR], plain: [NEAR, FAR] });
  });
});
