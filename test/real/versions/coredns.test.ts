import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { eventually } from '../../../harness/eventually.ts';
import { ensureCoreDns } from '../../../harness/versions/components.ts';
import { type CoreDns, startCoreDns } from '../../../harness/versions/coredns.ts';
import { type HttpsSite, startHttpsSite } from '../../../harness/versions/https-site.ts';

/* CoreDNS resolves headless Services (`headless: true`) from the wrapper, over https with a ServiceAccount's token. */

jest.setTimeout(120_000);

const [NEAR, FAR] = ['10.244.1.5', '10.244.1.6'];

let site: HttpsSite;
let dns: CoreDns | undefined;

beforeAll(async () => {
  site = await startHttpsSite('dns', { headless: true });
});

afterEach(async () => {
  await dns?.stop();
  dns = undefined;
});

afterAll(async () => {
  await site?.stop();
});

async function start(server: 'wrapper' | 'API server'): Promise<CoreDns> {
  const program = await ensureCoreDns();
  dns = await startCoreDns(site.node.netns, program, site.kubeconfig(server));
  return dns;
}

/** Waits until the names of both Services have these addresses. */
async function expectNames(from: CoreDns, local: string[], plain: string[]): Promise<void> {
  const names = async () => [
    await from.addresses(`local.${site.namespace}`),
    await from.addresses(`plain.${site.namespace}`),
  ];
  const wanted = JSON.stringify([local, plain]);
  await eventually(names, (found) => JSON.stringify(found) === wanted, { what: wanted });
}

test('CoreDNS answers with the endpoints of the site, and follows a relabel of its node', async () => {
  const since = Date.now();
  const fromWrapper = await start('wrapper');
  await expectNames(fromWrapper, [NEAR], [NEAR, FAR]);
  await site.moveTo('b');
  await expectNames(fromWrapper, [FAR], [NEAR, FAR]);
  await site.moveTo(null);
  await expectNames(fromWrapper, [], [NEAR, FAR]);
  await site.moveTo('a');
  await expectNames(fromWrapper, [NEAR], [NEAR, FAR]);
  const slices = { user: site.user, resource: 'endpointslices', since };
  expect(site.plane.requests(slices)).toEqual([]);
});

test('CoreDNS answers with all endpoints from the API server itself', async () => {
  await expectNames(await start('API server'), [NEAR, FAR], [NEAR, FAR]);
});
