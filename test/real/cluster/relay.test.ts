import { beforeAll, expect, jest, test } from '@jest/globals';
import { type Cluster, startCluster } from '../../../harness/cluster/cluster.ts';
import { installKubeProxy, rolledOut } from '../../../harness/cluster/kube-proxy.ts';
import { API_SERVER, nodeAddress } from '../../../harness/cluster/network.ts';
import { createNodeProbe } from '../../../harness/cluster/node-probe.ts';
import { writeOverlay } from '../../../harness/cluster/overlay.ts';
import { untilInSnapshots } from '../../../harness/cluster/saved-state.ts';
import { createWeb, type Web } from '../../../harness/cluster/web.ts';
import { createWorkspace, type Workspace } from '../../../harness/cluster/workspace.ts';
import { createWrapperFigures } from '../../../harness/cluster/wrapper-figures.ts';
import { stoppedLater } from '../../support/closed-later.ts';

/*
 * Three nodes and two relays: edge-1 and edge-2 are a site with a relay on each node, edge-3 is a site without. The
 * tests build on each other.
 */

jest.setTimeout(600_000);

const RELAY = 'kube-proxy-wrapper-relay';
const API = `${API_SERVER.address}:${API_SERVER.port}`;
/** The relays of the site, at the addresses of their nodes. */
const RELAYS = [1, 2].map((index) => `${nodeAddress(index)}:10364`);
/** The section of docs/relay.md. */
const INSTALLATION = 'Set up relays';
const SITE = ['edge-1', 'edge-2'];

let cluster: Cluster;
let workspace: Workspace;
let web: Web;
let figuresOf: ReturnType<typeof createWrapperFigures>;

beforeAll(async () => {
  cluster = stoppedLater(await startCluster());
  workspace = createWorkspace(cluster);
  figuresOf = createWrapperFigures(cluster);
  await workspace.run('kubectl label node edge-1 edge-2 site=a; kubectl label node edge-3 site=b');
  writeOverlay(workspace, ['state']);
  await workspace.run('kubectl apply --server-side -k my-cluster');
  await installKubeProxy(cluster, { mode: 'nftables', server: 'http://127.0.0.1:10360' });
  await rolledOut(cluster, 'kube-proxy');
  web = await createWeb(cluster, ['site', '*']);
});

/** How often a node has changed its server, and has listed Services and slices. */
async function figures(node: string): Promise<Record<string, string>> {
  const counted = /(failovers_total|lists_total.*(services|endpointslices).*) (\d+)$/;
  const found = (await figuresOf.metrics(node)).split('\n').flatMap((line) => {
    const [, what, , count] = counted.exec(line.trim()) ?? [];
    return what === undefined || count === undefined ? [] : [[what, count] as const];
  });
  return Object.fromEntries(found);
}

test('nodes of a site with relays read from these, and one without reads from the API server', async () => {
  await workspace.runDocumented('The certificate', 'openssl req', {
    'IP:127.0.0.1,DNS:localhost': `DNS:${RELAY}.kube-system.svc`,
  });
  await workspace.runDocumented(INSTALLATION, 'kubectl -n kube-system create secret');
  writeOverlay(workspace, ['state', 'relay'], {
    relays: { service: `kube-system/${RELAY}`, caFile: `/etc/${RELAY}/ca.crt` },
  });
  await workspace.run('kubectl apply --server-side --force-conflicts -k my-cluster');
  await workspace.runDocumented(INSTALLATION, 'kubectl label node edge-1');
  await workspace.run('kubectl label node edge-2 kube-proxy-wrapper.io/relay=true');
  await rolledOut(cluster, RELAY);
  await rolledOut(cluster, 'kube-proxy-wrapper');
  for (const node of SITE) await figuresOf.reads(node, RELAYS);
  await figuresOf.reads('edge-3', [API]);
  for (const node of SITE) await web.reaches(node, SITE);
  await web.reaches('edge-3', ['edge-3']);
});

test('a roll-out of the relays is not noticed: no list of Services or slices, no other server, no lost connection', async () => {
  const now = async () => await Promise.all(SITE.map(figures));
  const before = await now();
  expect(Object.keys(before[0] ?? {}).length).toBeGreaterThan(2);
  const seen = await web.underLoad(SITE, async () => {
    await workspace.run(`kubectl -n kube-system rollout restart daemonset/${RELAY}`);
    await rolledOut(cluster, RELAY);
    // A change arrives by the new relays.
    await web.setReady('edge-1', false);
    for (const node of SITE) await web.reaches(node, ['edge-2']);
    await web.setReady('edge-1', true);
    for (const node of SITE) await web.reaches(node, SITE);
  });
  for (const answers of seen) expect(Object.keys(answers).sort()).toEqual(SITE);
  expect(await now()).toEqual(before);
});

/** The policy of the Service when the power goes, and when it is back. */
const AS_BEFORE = '["site","*"]';
const CHANGED = '["kubernetes.io/hostname","*"]';

test('a site that loses its power has the newest state when it has booted, and only its relays list at the API server', async () => {
  const nodes = SITE.map((name) => cluster.node(name));
  const policy = async (keys: string) =>
    await workspace.run(`kubectl annotate service web --overwrite 'topologyKeys=${keys}'`);
  for (const node of nodes) await untilInSnapshots(node, RELAYS);
  await Promise.all(nodes.map(async (node) => await node.powerOff()));
  const since = Date.now();
  await policy(CHANGED);
  await Promise.all(nodes.map(async (node) => await node.powerOn()));
  await Promise.all(nodes.map(async (node) => await node.startKubelet()));
  for (const name of SITE) await createNodeProbe(cluster, name).reaches(web.url, [name]);
  const lists = figuresOf.lists(since);
  expect(lists.filter((each) => !each.startsWith(RELAY))).toEqual([]);
  // Each relay, each collection, once.
  expect(lists.length).toBe(new Set(lists).size);
  expect(lists.length).toBeGreaterThan(1);
  for (const name of SITE) await figuresOf.reads(name, RELAYS);
  for (const name of SITE)
    expect(await createNodeProbe(cluster, name).dial(web.url)).toEqual([name]);
  await policy(AS_BEFORE);
  for (const name of SITE) await web.reaches(name, SITE);
});

test('without relays the nodes read from the API server, and traffic goes on', async () => {
  const [answers = {}] = await web.underLoad(['edge-1'], async () => {
    await workspace.run('kubectl label node edge-1 edge-2 kube-proxy-wrapper.io/relay-');
    for (const node of SITE) await figuresOf.reads(node, [API]);
    await web.setReady('edge-2', false);
    await web.reaches('edge-1', ['edge-1']);
  });
  expect(Object.keys(answers).filter((answer) => answer.startsWith('('))).toEqual([]);
});

test('what the component leaves is deleted by the documented commands', async () => {
  writeOverlay(workspace, ['state']);
  await workspace.run('kubectl apply --server-side --force-conflicts -k my-cluster');
  await rolledOut(cluster, 'kube-proxy-wrapper');
  const left = async (): Promise<string> =>
    await workspace.run('kubectl -n kube-system get daemonset,service,secret,configmap -o name');
  expect(await left()).toContain(RELAY);
  await workspace.runDocumented(INSTALLATION, 'kubectl -n kube-system delete');
  expect(await left()).not.toContain(RELAY);
  await web.reaches('edge-1', ['edge-1']);
});
