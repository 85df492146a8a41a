import { cpSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { dump } from 'js-yaml';
import { type Cluster, startCluster } from '../../../../harness/cluster/cluster.ts';
import { installKubeProxy, rolledOut } from '../../../../harness/cluster/kube-proxy.ts';
import { nodeAddress } from '../../../../harness/cluster/network.ts';
import {
  buildPastRelease,
  type PastVersion,
  tagOf,
} from '../../../../harness/cluster/past-release.ts';
import { createWeb, isReady, type Web } from '../../../../harness/cluster/web.ts';
import { createWorkspace, type Workspace } from '../../../../harness/cluster/workspace.ts';
import { createWrapperFigures } from '../../../../harness/cluster/wrapper-figures.ts';
import { readText, repository } from '../../../../harness/deploy/repository.ts';
import { poll } from '../../../../harness/poll.ts';

jest.setTimeout(600_000);

/**
 * Updates from real past releases with their own manifests and a state folder, by the upgrade notes of CHANGELOG.md.
 * Then the ways back. Each test continues the last.
 */
let cluster: Cluster;
let web: Web;
let workspace: Workspace;
const everyNode = ['edge-1', 'edge-2'];

/** @param config settings of the old version */
async function startWith(version: PastVersion, config: string) {
  cluster = await startCluster({ nodeNames: everyNode });
  workspace = createWorkspace(cluster, { 'kubectl-kpw': join(repository, 'dist/kubectl-kpw.js') });
  const old = await buildPastRelease(version, join(cluster.folder, 'images'));
  cpSync(join(old.folder, 'manifests'), join(workspace.folder, version, 'manifests'), {
    recursive: true,
  });
  for (const node of cluster.nodes) await node.importImage(old.image);
  await installKubeProxy(cluster, { mode: 'nftables', server: 'http://127.0.0.1:10360' });
  await writeKustomization('my-cluster', config);
  // The same kustomization, beside the manifests of that version.
  await writeKustomization(`${version}/my-cluster`, config, version);
  await workspace.run(`kubectl apply --server-side -k ${version}/my-cluster`);
  await rolledOut(cluster, 'kube-proxy-wrapper');
  await rolledOut(cluster, 'kube-proxy');
  web = await createWeb(cluster, ['kubernetes.io/hostname', '*']);
  await web.stays();
}

/** Writes the kustomization of the documents into a folder, with these settings. */
async function writeKustomization(
  folder: string,
  config: string,
  version?: PastVersion,
  component?: string,
) {
  await workspace.runDocumented('kubeadm', 'kubectl -n kube-system get configmap', {
    'my-cluster': folder,
    ...(version === undefined ? {} : { [`newTag: ${newVersion()}`]: `newTag: ${tagOf(version)}` }),
    ...(component === undefined ? {} : { '# components: ': `components: [${component}] # ` }),
    'configMapGenerator:':
      'configMapGenerator:\n  - name: kube-proxy-wrapper\n    behavior: replace\n    files: [config.yaml]',
  });
  workspace.write(`${folder}/config.yaml`, config);
}

const newVersion = () =>
  /newTag: (\S+)/.exec(
    workspace.documented('kubeadm', 'kubectl -n kube-system get configmap'),
  )?.[1];

/** The first command of the changelog that begins so. */
function upgradeNote(beginning: string): string {
  const notes = readText('CHANGELOG.md');
  const [command = ''] = /(?<=`)[^`]+/.exec(notes.slice(notes.indexOf(`\`${beginning}`))) ?? [];
  return command;
}

async function wrapperPods() {
  const path = '/api/v1/namespaces/kube-system/pods';
  const label = 'app.kubernetes.io%2Fname%3Dkube-proxy-wrapper';
  return await cluster.admin.list(`${path}?labelSelector=${label}`);
}

const apply = async (folder: string) =>
  await workspace.run(`kubectl apply --server-side --force-conflicts -k ${folder}`);

/** The update stops: a Pod of the new version ends, beside those of the old one, which serve. */
async function stopsAtTheFirstNode() {
  await poll(
    wrapperPods,
    (pods) =>
      pods.some(({ status }) => (status.containerStatuses?.[0].restartCount ?? 0) > 0) &&
      pods.filter(isReady).length >= 2,
    { timeoutMs: 180_000, intervalMs: 200, what: 'a Pod that ends beside two that serve' },
  );
  await followsChanges();
}

/** @param before run on each node before its Pod is deleted */
async function deletePodsNodeByNode(before: (node: string) => Promise<void> = async () => {}) {
  for (const node of everyNode) {
    await before(node);
    await workspace.run(
      `kubectl -n kube-system delete pod -l app.kubernetes.io/name=kube-proxy-wrapper --field-selector spec.nodeName=${node}`,
    );
  }
  await rolledOut(cluster, 'kube-proxy-wrapper');
}

const stateFolder = (node: string) =>
  cluster.node(node).hostPath('/var/lib/kube-proxy-wrapper/state');

const stateOwners = () => everyNode.map((node) => statSync(stateFolder(node)).uid);

/** Names of the snapshots that a node has, without those that are being written. */
const snapshots = (node: string) =>
  readdirSync(stateFolder(node)).filter((name) => !name.endsWith('.tmp'));

/** Waits until the version that runs now writes a snapshot of slices. */
async function savesState() {
  const now = Date.now();
  await followsChanges();
  const latest = () => {
    const files = snapshots('edge-1').filter((name) => name.startsWith('endpointslices-'));
    return Math.max(...files.map((name) => statSync(join(stateFolder('edge-1'), name)).mtimeMs));
  };
  await poll(latest, (time) => time > now, { timeoutMs: 180_000, what: 'a newer snapshot' });
  expect(everyNode.flatMap(snapshots).filter((name) => name.includes('set-aside'))).toEqual([]);
}

/** The versions of the Pods, without those that end. */
const imagesOfPods = async () =>
  (await wrapperPods())
    .filter(({ metadata }) => !('deletionTimestamp' in metadata))
    .map(({ spec }) => (spec.containers[0].image as string).split(':')[1]);

/** Runs `during` with every node under load. Resolves with the answers that were not this node's, and how many. */
async function failuresUnderLoad(during: () => Promise<unknown>) {
  const before = await web.readySince();
  const seen = await web.underLoad(everyNode, during);
  // Else it was right that another node answered.
  expect(await web.readySince()).toEqual(before);
  return seen.map((answers, index) => {
    const own = everyNode[index] as string;
    expect(answers[own]).toBeGreaterThan(100);
    return Object.entries(answers).filter(([answer]) => answer !== own);
  });
}

/** Runs `during` while a client of each wrapper requests Services. Resolves with the answers that were not 200. */
async function refusalsOfWrappers(during: () => Promise<unknown>) {
  const loads = everyNode.map((name) =>
    cluster.node(name).spawn({
      name: 'load-on-wrapper',
      command: cluster.binaries.podProgram,
      args: ['load', 'http://127.0.0.1:10360/api/v1/services?resourceVersion=0', '50'],
    }),
  );
  await during();
  for (const load of loads) await load.stop();
  return loads.map(({ process }) => {
    const [last = ''] = process.log().trim().split('\n').slice(-1);
    const { answers } = JSON.parse(last) as { answers: Record<string, number> };
    expect(Object.keys(answers)).not.toEqual([]);
    return Object.keys(answers).filter((answer) => answer.startsWith('('));
  });
}

// kube-proxy was refused meanwhile: in the end client-go waits 30 to 60 s before it tries again.
const followsChanges = async () => await web.followsChanges();

describe('from 1.0.0, whose user is another one', () => {
  beforeAll(async () => await startWith('1.0.0', 'logLevel: info\n'), 400_000);
  afterAll(async () => await cluster.stop());

  test('the update stops at the first node, where the old Pod continues to serve', async () => {
    expect(stateOwners()).toEqual([65_532, 65_532]);
    await apply('my-cluster');
    await stopsAtTheFirstNode();
  });

  test('after its Pods are deleted node by node the new one serves, with the state of the old', async () => {
    expect(await failuresUnderLoad(deletePodsNodeByNode)).toEqual([[], []]);
    expect(await imagesOfPods()).toEqual([newVersion(), newVersion()]);
    expect(stateOwners()).toEqual([10_360, 10_360]);
    await savesState();
  });

  test('the way back is the same, and 1.0.0 goes on with the state after its owner is changed', async () => {
    const back = async () => {
      await apply('1.0.0/my-cluster');
      // 1.0.0 changes only the owner of the folder above it.
      await deletePodsNodeByNode(async (node) => {
        await workspace.run(`chown -R 65532:65532 ${stateFolder(node)}`);
      });
    };
    expect(await failuresUnderLoad(back)).toEqual([[], []]);
    expect(await imagesOfPods()).toEqual(['1.0.0', '1.0.0']);
    await savesState();
    expect(stateOwners()).toEqual([65_532, 65_532]);
  });
});

/** The manifests of before have it: a roll-out that begins earlier can stand still (CHANGELOG.md, "The way back"). */
const MIN_READY_MS = 10_000;

/** Waits until the Pods of the wrapper count as available by the manifests of before. */
async function untilAvailable(): Promise<void> {
  await rolledOut(cluster, 'kube-proxy-wrapper');
  await sleep(MIN_READY_MS + 1_000);
}

describe('from 1.1.0', () => {
  const newConfig = 'logLevel: info\n';
  /** With a setting that is gone. */
  const oldConfig = `${newConfig}returnDelaySeconds: 0\n`;
  beforeAll(async () => await startWith('1.1.0', oldConfig), 400_000);
  afterAll(async () => await cluster.stop());

  test('kubectl kpw of this version finds the nodes of 1.1.0 well', async () => {
    expect(await workspace.run('kubectl kpw status')).toMatch(/^2 of 2 nodes are well$/m);
    expect(await workspace.run('kubectl kpw explain web --node edge-1')).toMatch(
      /^default\/web on node edge-1: FILTERED, 1 of 2 endpoints/,
    );
  });

  test('a setting that is gone stops the update at the first node, and status says which', async () => {
    await apply('my-cluster');
    await stopsAtTheFirstNode();
    expect(await workspace.run('kubectl kpw status || true')).toMatch(
      /^\[FAIL\] wrapper .*returnDelaySeconds was removed: set successThreshold/m,
    );
  });

  test('without it the update goes on, and neither a request nor a connection is refused', async () => {
    workspace.write('my-cluster/config.yaml', newConfig);
    // The annotation that is gone, by the command of the upgrade notes.
    await workspace.run('kubectl annotate service web kube-proxy-wrapper.io/return-delay=30s');
    await workspace.run(upgradeNote('kubectl annotate services --all -A'));
    const before = snapshots('edge-1');
    const update = async () => {
      await apply('my-cluster');
      await rolledOut(cluster, 'kube-proxy-wrapper');
    };
    const refused = async () => expect(await refusalsOfWrappers(update)).toEqual([[], []]);
    expect(await failuresUnderLoad(refused)).toEqual([[], []]);
    expect(await imagesOfPods()).toEqual([newVersion(), newVersion()]);
    await savesState();
    // It goes on with the files of 1.1.0. The requests from the node have another one.
    expect(snapshots('edge-1')).toEqual(expect.arrayContaining(before));
    expect(await workspace.run('kubectl kpw status')).toMatch(/^2 of 2 nodes are well$/m);
  });

  test('the way back is an update too', async () => {
    await untilAvailable();
    const back = async () => {
      await apply('1.1.0/my-cluster');
      await rolledOut(cluster, 'kube-proxy-wrapper');
    };
    const refused = async () => expect(await refusalsOfWrappers(back)).toEqual([[], []]);
    expect(await failuresUnderLoad(refused)).toEqual([[], []]);
    expect(await imagesOfPods()).toEqual(['1.1.0', '1.1.0']);
    await savesState();
  });
});

describe('from 1.2.0, with relays that it finds by the ClusterIP of their Service', () => {
  const RELAY = 'kube-proxy-wrapper-relay';
  const component = '../manifests/components/relay';
  const caFile = `/etc/${RELAY}/ca.crt`;
  const relays = everyNode.map((_, index) => `${nodeAddress(index + 1)}:10364`);
  let clusterIP: string;

  /** Applies the Secret of the relays with a new certificate, which has these names. */
  const applySecret = async (names: string) => {
    await workspace.runDocumented('The certificate', 'openssl req', {
      'IP:127.0.0.1,DNS:localhost': names,
    });
    const command = workspace.documented('Set up relays', 'kubectl -n kube-system create secret');
    const yaml = `${command.trim()} --dry-run=client -o yaml`;
    await workspace.run(`${yaml} | kubectl apply --server-side -f -`);
  };

  /** Applies a folder. Resolves when all is rolled out, and the wrappers read from one of these servers. */
  const update = async (folder: string, servers: readonly string[]) => {
    await apply(folder);
    await rolledOut(cluster, RELAY);
    await rolledOut(cluster, 'kube-proxy-wrapper');
    const figures = createWrapperFigures(cluster);
    for (const node of everyNode) await figures.reads(node, servers);
  };

  beforeAll(async () => {
    await startWith('1.2.0', 'logLevel: info\n');
    await workspace.run('kubectl label node edge-1 edge-2 site=a');
    await workspace.run(`kubectl apply --server-side -f 1.2.0/${component.slice(3)}/service.yaml`);
    const service = await cluster.admin.get(`/api/v1/namespaces/kube-system/services/${RELAY}`);
    clusterIP = service.spec.clusterIP;
    await applySecret(`IP:${clusterIP}`);
    await workspace.run('kubectl label node edge-1 edge-2 kube-proxy-wrapper.io/relay=true');
    const oldConfig = dump({ relays: { servers: [`https://${clusterIP}`], caFile } });
    const newConfig = dump({ relays: { service: `kube-system/${RELAY}`, caFile } });
    await writeKustomization('1.2.0/my-cluster', oldConfig, '1.2.0', component);
    await writeKustomization('my-cluster', newConfig, undefined, component);
    await update('1.2.0/my-cluster', [clusterIP]);
  }, 500_000);
  afterAll(async () => await cluster.stop());

  /** Runs a change under load, of Pods and of clients of the wrappers. Resolves with what has failed. */
  const failuresOf = async (change: () => Promise<unknown>) => {
    const refused = async () => expect(await refusalsOfWrappers(change)).toEqual([[], []]);
    return await failuresUnderLoad(refused);
  };

  test('to relays that are found without a rule no request is lost', async () => {
    const change = async () => {
      // Old and new processes read it at different times, so a while they trust each other no more.
      await applySecret(`IP:${clusterIP},DNS:${RELAY}.kube-system.svc`);
      await update('my-cluster', relays);
      await workspace.run(upgradeNote('kubectl -n kube-system delete networkpolicy'));
    };
    expect(await failuresOf(change)).toEqual([[], []]);
    expect(await imagesOfPods()).toEqual([newVersion(), newVersion()]);
    await followsChanges();
    expect(await workspace.run('kubectl kpw status')).toMatch(/^2 of 2 nodes are well$/m);
  });

  test('and none is lost on the way back', async () => {
    await untilAvailable();
    const change = async () => await update('1.2.0/my-cluster', [clusterIP]);
    expect(await failuresOf(change)).toEqual([[], []]);
    expect(await imagesOfPods()).toEqual([tagOf('1.2.0'), tagOf('1.2.0')]);
    await followsChanges();
  });
});
