import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { KUBE_PROXY_WRAPPER } from '../../cli/definitions/all.ts';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { kubeconfigFor } from '../../fake-apiserver/kubeconfig.ts';
import { transcriptOf } from '../support/commands/transcript.ts';
import { useFolder } from '../support/use-folder.ts';
import { useStage } from '../support/wrapper/stage.ts';

/*
 * Command lines, and all that they print: __snapshots__ has the texts, which a run has written and a reader has found
 * right. ADMIN, DEMO, IN and others stand for what differs from run to run.
 */
const places: Record<string, string> = {
  DEMO: 'demo/cluster.yaml',
  'IN/': 'test/cli/manifests/',
};

const run = (line: string) => transcriptOf(KUBE_PROXY_WRAPPER, line, places);

describe('a command line that needs no wrapper', () => {
  test.each([
    'version -o yaml',
    'version x',
    'check --mode ipvs',
    'help check',
    'expain',
    'expain --help',
    'help expain',
    'walk',
    '-n shop explain',
    'explain a/b/c',
    'explain a b',
    'explain /web',
    'explain svc/',
    'explain default/web -n shop',
    'explain web -l a=b',
    'explain web --warnings',
    'explain --diff',
    'explain --context x',
    'explain -x',
    'explain --namespace',
    'explain -n --warnings',
    'explain --warnings=2',
    'explain -o jsn',
    'explain -n a -A',
    'explain -l =b',
    'run --nodename x',
    'status --admin 127.0.0.1:99999',
    'status --admin ::1:1',
    'status --admin 127.0.0.1:1',
    'simulate --kubeconfig /none',
    'simulate --from x --kubeconfig y',
    'simulate --from /none.yaml',
    'simulate --from x --keys ["a"',
    'simulate --from x --keys a,a',
    'simulate --from x --preset near',
  ])('%s', async (line) => {
    expect(await run(line)).toMatchSnapshot();
  });
});

describe('the wrapper of a node', () => {
  let server: ApiServer;

  beforeAll(async () => {
    const stage = await useStage();
    server = stage.server;
    const kubeconfig = join(useFolder(), 'kubeconfig');
    writeFileSync(kubeconfig, kubeconfigFor(stage.apiServer));
    Object.assign(places, {
      ADMIN: new URL(stage.admin.url).host,
      LISTEN: new URL(stage.proxy.url).host,
      KUBECONFIG: kubeconfig,
    });
  });

  test.each([
    'explain',
    'explain -o wide --no-headers',
    'explain -A -l app=web',
    'explain -l app!=web --warnings',
    // It once ended with 0, so that a misspelt namespace in CI was green.
    'explain -n none',
    'explain -n default -l app=none',
    'explain --warnings -l a',
    'explain web',
    'explain svc/web --diff',
    'explain web --diff -o json',
    // In a dry run SHOWN was 1/2, although 2/2 are shown.
    'explain trial',
    'explain trial -o yaml',
    'explain doomed',
    'explain hinted --diff',
    'explain moved',
    'explain bare',
    'explain preset',
    'explain lost',
    'explain half',
    'explain lone',
    'explain unnamed',
    'explain invalid',
    'explain ignored',
    'explain typo',
    'explain headless',
    'explain wbe',
    'status',
  ])('%s', async (line) => {
    expect(await run(`${line} --admin ADMIN`)).toMatchSnapshot();
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
    const line = `${args.replace('shop/', '')} --admin ADMIN`;
    const steps = path.match(/\w+|\[\]/g) ?? [];
    const selected = steps.reduce<unknown[]>(
      (values, step) => (step === '[]' ? values.flat() : values.map((each) => Object(each)[step])),
      [JSON.parse(await run(line))],
    );
    expect(selected.length).toBeGreaterThan(0);
    expect(selected).not.toContain(undefined);
  });

  test.each(['web --context main', '--context prod'])('simulate %s', async (line) => {
    expect(await run(`simulate ${line} --kubeconfig KUBECONFIG`)).toMatchSnapshot();
  });

  test('simulate without the right to list Services', async () => {
    server.refuse(({ path }) => path.endsWith('/services'), 403);
    expect(await run('simulate --kubeconfig KUBECONFIG')).toMatchSnapshot();
  });

  // The likeliest mistake. It once printed the Status.
  test.each(['status', 'explain'])('%s --admin LISTEN', async (command) => {
    expect(await run(`${command} --admin LISTEN`)).toMatchSnapshot();
  });
});

describe('simulate', () => {
  test.each([
    '',
    '-o wide --no-headers',
    '-n kube-system',
    '-n kube-system --service dns',
    '--service web --service nope',
    '-n nope',
    '-l app=wbe',
    'svc/nearby-only -o json',
    'shop/web',
    'default/wbe',
    'default/something',
    '--preset prefer-same-zon',
    'cluster.yaml',
    '--config IN/config-map.yaml',
    'web --config IN/settings/dry-run.yaml',
    // kube-proxy reads no slice with this label, and simulate showed its endpoints.
    'web --from IN/headless-label.yaml',
    'web --from IN/headless-label.yaml --from IN/headless.yaml --config IN/settings/headless.yaml',
    '-n default --from IN/external-name.yaml',
    'plain --from IN/withheld.yaml --config IN/settings/cloud.yaml',
    // The data path shows all endpoints of such a Service, but simulate once reported nodes without an endpoint.
    '--from IN/dry-run.yaml',
    'nearby-only --from IN/dry-run.yaml',
    '--from IN/dry-namespace.yaml --config IN/settings/namespaces.yaml',
    // It changed the exit code.
    '--from IN/rack.yaml',
    '--against DEMO --against IN/dry-run.yaml',
    // There was once no finding while the Service had any endpoint left.
    'nearby-only --from IN/two-ports.yaml --from IN/far-both.yaml',
    'nearby-only --from IN/two-ports.yaml --from IN/far-http.yaml',
    'nearby-only --from IN/two-ports.yaml --from IN/far-other.yaml',
    'nearby-only --from IN/far-ipv6.yaml',
    // Nobody can connect to IPv6 there, but simulate reported nodes without such an endpoint.
    'nearby-only --from IN/single-stack.yaml --from IN/far-ipv6.yaml',
    'nearby-only --from IN/two-ports.yaml --from IN/far-asleep.yaml',
    'nearby-only --from IN/two-ports.yaml --from IN/far-serving.yaml',
    'nearby-only --from IN/two-ports.yaml --from IN/far-both.yaml --from IN/nodes-moved.yaml --against DEMO --against IN/two-ports.yaml --against IN/far-both.yaml',
    '--from IN/mistakes.yaml',
    // The default was used, whatever --config said. And an answer of a node with room stood for one without.
    'db --from IN/regions.yaml --config IN/settings/one-node-set.yaml',
    'db --from IN/regions.yaml --from IN/dry-db.yaml --config IN/settings/one-node-set.yaml',
    'db --from IN/regions.yaml --from IN/edge-1-off.yaml --config IN/settings/one-node-set.yaml',
    '--from IN/edge-3-in-a.yaml --against DEMO',
    '--from IN/other-address.yaml --against DEMO',
    '--against DEMO',
    '--diff',
    // It once compared --config with itself: "no node would see a difference".
    '--config IN/settings/same-zone.yaml --diff',
    '--config IN/settings/hostname.yaml --against IN/settings/same-zone.yaml',
    '--config IN/settings/same-zone.yaml --against IN/settings/same-zone.yaml',
    '--config IN/settings/same-zone.yaml --against DEMO --against IN/edge-3-in-a.yaml',
    '--preset same-zone-only --diff --config IN/settings/hostname.yaml',
    // A file of comments was once an empty cluster, and settings beside manifests were dropped.
    '--against IN/comments.yaml',
    // Such settings are the defaults. It was a cluster without a Node.
    '--config IN/settings/same-zone.yaml --against IN/comments.yaml',
    '--against IN/nothing.yaml --against IN/settings/dry-run.yaml',
    '--against IN/config-map.yaml',
  ])('--from DEMO %s', async (line) => {
    expect(await run(`simulate --from DEMO ${line}`.trim())).toMatchSnapshot();
  });

  test.each([
    // As in the cluster, the Services had endpoints there and none here.
    'endpoints.yaml -o wide',
    'hints.yaml',
    'hints.yaml --from IN/hints-cut.yaml',
    'nested',
    'nested -R',
    // Without EndpointSlices each Service once had no endpoint anywhere, and CI was green.
    'nested/parts/service.yaml --from IN/nested/parts/slices.yaml',
    'nested/parts/node.yaml --from IN/nested/parts/slices.yaml',
    'nested/parts/node.yaml --from IN/nested/parts/service.yaml',
    // With two overlapping dumps, each endpoint once counted twice and each node had two columns.
    'nested/parts --from IN/later.yaml -A',
    // It was a column or a row without a name.
    'unnamed-node.yaml',
    'annotation-list.yaml',
    'label-bool.yaml',
    'removed-field.yaml',
    // Its `topology` was not read: the endpoints matched no key (karmada-io/karmada#2460).
    'removed-version.yaml',
    'old-zone.yaml',
    'unnamed-service.yaml',
    'wrong-node.yaml',
    'wrong-service.yaml',
  ])('--from IN/%s', async (line) => {
    expect(await run(`simulate --from IN/${line}`)).toMatchSnapshot();
  });

  test('docs/commands.md has what it prints about the example', async () => {
    const [, block = ''] = readFileSync('docs/commands.md', 'utf8').split(
      '$ kube-proxy-wrapper simulate --from demo/cluster.yaml\n',
    );
    const [printed = '', ...rest] = block.split('…\n');
    expect(rest).not.toEqual([]);
    expect(await run('simulate --from DEMO')).toContain(printed);
  });
});
