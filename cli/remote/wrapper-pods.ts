import type { V1Pod } from '@kubernetes/client-node';
import { WrapperError } from '../../src/errors.ts';
import { suggestion } from '../../src/text/did-you-mean.ts';
import { greatest } from '../../src/util/extremes.ts';
import type { KubeClient } from '../client/kube-client.ts';
import type { PodName } from '../client/port-forward.ts';
import { listNodes } from './list-nodes.ts';
import { listPods, podsByNode, unlessRefused } from './list-pods.ts';
import { type NextPod, nextPodOf, readySince } from './next-pod.ts';
import { type PodTrouble, troubleOf } from './pod-trouble.ts';
import { timeOf } from './time-of.ts';

/** The Pod of a wrapper. */
export interface WrapperPod extends PodName {
  readonly node: string;
  /**
   * Why a question would not be answered; absent: nothing is known against it.
   * - `lost`: the kubelet of the node does not report any more
   * - `gone`: the Node was deleted, and its Pods are left over for some minutes
   */
  readonly unasked?: 'lost' | 'gone' | undefined;
}

/** The Pods of the wrapper on one node. */
export interface WrapperNode {
  readonly node: string;
  /** The one that can be asked; absent: none runs. */
  readonly pod?: WrapperPod;
  /** Pods that do not run, or not for long. */
  readonly troubles: readonly PodTrouble[];
  /** One that a roll-out has made beside a ready one; absent: there is none, or it is in trouble. */
  readonly next?: NextPod | undefined;
  /** DaemonSet of the newest Pod, and when that Pod was made, in milliseconds since the epoch. */
  readonly daemonSet: string;
  readonly newest: number;
  /** When the Pod that can be asked was made; 0: none runs. */
  readonly created: number;
  /** When the wrapper that can be asked was started, as far as it is known, in the same unit. */
  readonly started: number;
}

/** Flags by which the Pods of wrappers are found. */
export interface PodFlags {
  readonly podSelector: string;
  readonly podNamespace: string;
}

/** Label of Pods of a canary, which manifests/canary and the chart set. */
const TRACK = 'kube-proxy-wrapper.io/track';

/**
 * Finds the running Pods of wrappers, one for each node, sorted by node. During an update a node has two: the ready one
 * counts, else the newest.
 *
 * Only the namespace of the installation is searched. A Pod of a tenant with the same label could answer anything.
 *
 * @param node only on this node; undefined: on all nodes
 * @throws WrapperError if the Pods belong to two installations
 */
export async function findWrapperPods(
  client: KubeClient,
  flags: PodFlags,
  node: string | undefined,
): Promise<WrapperPod[]> {
  const { wrappers } = await findWrapperNodes(client, flags, node);
  return wrappers.flatMap(({ pod }) => pod ?? []);
}

/** The nodes of a cluster. */
export interface ClusterNodes {
  /** Those with Pods of the wrapper, sorted by name. */
  readonly wrappers: readonly WrapperNode[];
  /** Names of the others; empty without the right to list nodes. */
  readonly others: readonly string[];
}

/** Finds the nodes with Pods of the wrapper, those included that do not run. See {@link findWrapperPods}. */
export async function findWrapperNodes(
  client: KubeClient,
  flags: PodFlags,
  node: string | undefined,
): Promise<ClusterNodes> {
  const pods = await listPods(client, {
    namespace: flags.podNamespace,
    selector: flags.podSelector,
    node,
  });
  assertOneInstallation(pods, flags);
  const nodes = await listNodes(client, node);
  const byName = new Map(nodes?.map((each) => [each.name, each]));
  const unasked = (name: string): WrapperPod['unasked'] => {
    if (nodes !== undefined && !byName.has(name)) return 'gone';
    // Who names a node wants it to be asked.
    return node === undefined && byName.get(name)?.isLost ? 'lost' : undefined;
  };
  const byNode = podsByNode(pods);
  const wrappers = Array.from(byNode, ([name, all]) => nodeOf(name, all, unasked(name)));
  return {
    wrappers: wrappers.sort((a, b) => (a.node < b.node ? -1 : 1)),
    others: node === undefined ? [...byName.keys()].filter((name) => !byNode.has(name)) : [],
  };
}

function nodeOf(node: string, all: readonly V1Pod[], unasked: WrapperPod['unasked']): WrapperNode {
  const troubles = all.flatMap((each) => troubleOf(each) ?? []);
  const isTroubled = (each: V1Pod) => troubles.some(({ pod }) => pod === nameOf(each).name);
  const running = all.filter(isRunning).toSorted(byPreference);
  const pod = running.find((each) => !isTroubled(each)) ?? running[0];
  const newest = all.toSorted((a, b) => createdOf(b) - createdOf(a))[0] as V1Pod;
  const daemonSet = daemonSetOf(newest) ?? '';
  const ofRollOut = running.filter((each) => !isTroubled(each) && daemonSetOf(each) === daemonSet);
  return {
    node,
    pod: pod && { ...nameOf(pod), node, unasked },
    troubles,
    // What the kubelet of a lost node reported last is old.
    next: daemonSet !== '' && unasked === undefined ? nextPodOf(ofRollOut) : undefined,
    daemonSet,
    newest: createdOf(newest),
    created: pod === undefined ? 0 : createdOf(pod),
    started: pod === undefined ? 0 : startedOf(pod),
  };
}

/**
 * The error if there is no Pod. It names the namespace of the installation if the caller may list Pods in all, and a
 * Node that does not exist.
 */
export async function noPod(
  client: KubeClient,
  flags: PodFlags,
  node: string | undefined,
): Promise<WrapperError> {
  const { podSelector: selector, podNamespace: namespace } = flags;
  const nodes = node === undefined ? undefined : await listNodes(client);
  const names = nodes?.map(({ name }) => name);
  if (node !== undefined && names?.includes(node) === false) {
    const what = `the cluster has no Node ${node}.${suggestion(node, names)}`;
    return new WrapperError('NotFound', what.replace(/\.$/, ''));
  }
  const place = node === undefined ? 'in this cluster' : `on node ${node}`;
  const what = `no Pod of the wrapper runs ${place} (label ${selector}, namespace ${namespace})`;
  const other = await otherNamespace(client, flags, node);
  if (other !== undefined) {
    const use = `use --pod-namespace ${other}`;
    return new WrapperError(
      'NotFound',
      `${what}; there are such Pods in namespace ${other}: ${use}`,
    );
  }
  const see = `kubectl get pods -A -o wide -l ${selector}`;
  return new WrapperError('NotFound', `${what}; see ${see}; ${OTHER_PLACES}`);
}

export const OTHER_PLACES =
  'use --pod-namespace if it is installed in another namespace, and --pod-selector if its Pods have another label, e.g. k8s-app=kube-proxy for a sidecar';

/** Another namespace that has Pods of the wrapper; undefined: there is none, or the caller may not list Pods in all. */
export async function otherNamespace(
  client: KubeClient,
  { podSelector: selector, podNamespace }: PodFlags,
  node?: string,
): Promise<string | undefined> {
  const pods = await listPods(client, { selector, node }).catch(unlessRefused([]));
  const namespaces = pods.map(({ metadata }) => metadata?.namespace);
  return namespaces.find((namespace) => namespace !== podNamespace);
}

/** A canary is a second DaemonSet of the same installation. */
function assertOneInstallation(pods: readonly V1Pod[], { podNamespace }: PodFlags): void {
  const daemonSets = new Set<string>();
  for (const { metadata } of pods) {
    const owner = daemonSetOf({ metadata });
    if (owner === undefined || metadata?.labels?.[TRACK] === 'canary') continue;
    daemonSets.add(owner);
  }
  if (daemonSets.size < 2) return;
  const names = [...daemonSets].sort().join(' and ');
  throw new WrapperError(
    'InvalidSettings',
    `namespace ${podNamespace} has two installations of the wrapper: DaemonSets ${names}; choose one with --pod-selector`,
  );
}

function isRunning({ status }: V1Pod): boolean {
  return status?.phase === 'Running';
}

function daemonSetOf({ metadata }: V1Pod): string | undefined {
  return metadata?.ownerReferences?.find(({ kind }) => kind === 'DaemonSet')?.name;
}

function createdOf({ metadata }: V1Pod): number {
  return timeOf(metadata?.creationTimestamp);
}

/** When the newest container of a Pod was started: a container that crashes is started again in its Pod. */
function startedOf({ status }: V1Pod): number {
  const all = status?.containerStatuses ?? [];
  return Math.max(0, greatest(all.map(({ state }) => timeOf(state?.running?.startedAt))));
}

function byPreference(a: V1Pod, b: V1Pod): number {
  const isReady = (pod: V1Pod): number => Number(readySince(pod) !== undefined);
  return isReady(b) - isReady(a) || createdOf(b) - createdOf(a);
}

function nameOf({ metadata }: V1Pod): PodName {
  return { namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' };
}
