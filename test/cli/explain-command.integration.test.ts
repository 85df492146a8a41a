import { beforeEach, describe, expect, test } from '@jest/globals';
import { createAdminClient } from '../../cli/client/admin-client.ts';
import { KUBE_PROXY_WRAPPER } from '../../cli/definitions/all.ts';
import { explainReport } from '../../cli/node/explain.ts';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import type { Admin } from '../../src/admin/admin.ts';
import type { NodeProxy } from '../../src/proxy/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { runInProcess } from '../support/remote/run-in-process.ts';
import { putService, putSlice } from '../support/wrapper/small-cluster.ts';
import { useAdmin, useCluster, useWrapper } from '../support/wrapper/use.ts';

let server: ApiServer;
let proxy: NodeProxy;
let admin: Admin;

beforeEach(async () => {
  server = useCluster();
  for (const name of ['web', 'api']) {
    putService(server, name, ['kubernetes.io/hostname']);
    putSlice(server, `${name}-1`, name, [
      { ip: '10.0.0.1', node: 'edge-1' },
      { ip: '10.0.0.2', node: 'edge-2' },
    ]);
  }
  server.patch('services', 'web', { metadata: { labels: { app: 'web' } } });
  proxy = await useWrapper(await server.listen());
  admin = await useAdmin(proxy);
  for (const path of ['/apis/discovery.k8s.io/v1/endpointslices', '/api/v1/services']) {
    await fetch(proxy.url + path);
  }
});

const at = () => ['--admin', new URL(admin.url).host];
const explain = (...args: string[]) =>
  runInProcess(KUBE_PROXY_WRAPPER, ['explain', ...args, ...at()]);

describe('explain', () => {
  test.each([
    [['-l', 'app=web'], ['default/web']],
    [['-l', 'app!=web'], ['default/api']],
    [['-A'], ['default/api', 'default/web']],
  ])('%j selects Services', async (args, names) => {
    const { services } = JSON.parse((await explain(...args, '-o', 'json')).out);
    expect(services.map(({ service }: { service: string }) => service)).toEqual(names);
  });

  // It once ended with 0, so that a misspelt namespace in CI was green.
  test('a namespace without Services is an error', async () => {
    expect(await explain('-n', 'none')).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no Service in namespace none that kube-proxy watches'),
    });
    expect((await explain('-n', 'default', '-l', 'app=none')).code).toBe(0);
  });

  test('a wrong selector is a wrong command line', async () => {
    const { code, err } = await explain('-l', 'a b');
    expect(code).toBe(2);
    expect(err).toContain('a b');
  });

  // It once said that there are no Services.
  test.each([
    [['-l', 'app=none'], 'no Services with labels app=none'],
    [['-n', 'default', '-l', 'a=b'], 'no Services with labels a=b in namespace default'],
    [['--warnings', '-l', 'a'], 'no Services with warnings with labels a'],
  ])('%j says what no Service has', async (args, text) => {
    expect((await explain(...args)).out).toBe(`node edge-1: ${text}\n`);
  });

  // In a dry run SHOWN was 1/2, although 2/2 are shown.
  test('in a dry run SHOWN counts what is shown', async () => {
    server.annotate('web', 'kube-proxy-wrapper.io/filter', 'dry-run');
    await eventually(
      async () => (await explain('-l', 'app=web', '--no-headers')).out.includes('dry run'),
      true,
    );
    const { out } = await explain('-l', 'app=web', '--no-headers');
    expect(out).toMatch(/^default\/web +filtered \(dry run: 1\/2\) +annotation +hostname +2\/2 /);
    expect(JSON.parse((await explain('api', '-o', 'json')).out).counts.kept).toBe(1);
  });
});

// `status -o json | jq .problems` once printed null.
test.each(
  KUBE_PROXY_WRAPPER.commands
    .flatMap(({ examples }) => examples)
    .flatMap((line) => {
      const [, args, path] = /^\{program\} (.+) \| jq (?:-r )?(\S+)$/.exec(line) ?? [];
      return args === undefined || path === undefined ? [] : [[args, path.replaceAll("'", '')]];
    }),
)('the example %s has %s', async (args = '', path = '') => {
  const words = args.replace('shop/', '').split(' ');
  const { out } = await runInProcess(KUBE_PROXY_WRAPPER, [...words, ...at()]);
  const steps = path.match(/\w+|\[\]/g) ?? [];
  const selected = steps.reduce<unknown[]>(
    (values, step) => (step === '[]' ? values.flat() : values.map((each) => Object(each)[step])),
    [JSON.parse(out)],
  );
  expect(selected.length).toBeGreaterThan(0);
  expect(selected).not.toContain(undefined);
});

// The likeliest mistake. It once printed the Status.
test.each(['status', 'explain'])(
  '%s says that --admin names the port of listen',
  async (command) => {
    const printed = await runInProcess(KUBE_PROXY_WRAPPER, [
      command,
      '--admin',
      new URL(proxy.url).host,
    ]);
    expect(printed.code).toBe(1);
    expect(printed.out + printed.err).toMatch(
      /does not answer as the admin port of a wrapper \(HTTP 403: .*\), but as the port of listen/,
    );
  },
);

describe('a Service', () => {
  test('whose keys are an empty list has no policy, and the text says where that is from', async () => {
    server.annotate('web', 'topologyKeys', '[]');
    await eventually(async () => (await explain('web')).out.includes('UNFILTERED'), true);
    expect((await explain('web')).out).toMatch(
      /UNFILTERED, there are no topology keys for it, or they are an empty list[\s\S]*\n {2}from annotation topologyKeys of the Service\n/,
    );
  });
});

describe('old data', () => {
  const stale = {
    state: 'unreachable',
    ageSeconds: 75,
    unreachableSince: '2026-01-01T00:00:00Z',
    warning: 'the data is 75 s old: the API server is unreachable',
  };

  test('is the first thing that explain says', async () => {
    const client = createAdminClient(admin.url);
    const old = {
      ...client,
      request: async <T>(path: string) => ({ ...(await client.request<T>(path)), data: stale }),
    };
    for (const service of [{ namespace: 'default', name: 'web' }, undefined]) {
      const { text } = await explainReport(old, {}, service);
      const [, second] = text({ wide: false, headers: true }).split('\n');
      expect(second).toBe(`! ${stale.warning}`);
    }
    await client.close();
  });
});
