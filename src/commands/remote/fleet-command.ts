import { setTimeout as delay } from 'node:timers/promises';
import { WrapperError } from '../../errors.ts';
import { type Call, EXIT } from '../command.ts';
import { type Flags, textFlag } from '../flags.ts';
import { type ServiceName, serviceArgument } from '../service-argument.ts';
import { readCluster } from '../simulate/read-cluster.ts';
import { simulate } from '../simulate/simulation.ts';
import { type ServiceFilter, serviceFilter, settingsOf } from '../simulate/simulation-input.ts';
import { userKubeconfig } from '../user-kubeconfig.ts';
import { type Expected, expectedOf } from './fleet-expected.ts';
import { fleetReport, type NodeComparison } from './fleet-report.ts';
import { compareNode, readSeen, type Seen } from './fleet-seen.ts';
import { forEachLimited } from './for-each.ts';
import { createKubeClient, type KubeClient } from './kube-client.ts';
import { adminPort, createRemoteAdmin } from './remote-admin.ts';
import { parallel } from './remote-command.ts';
import { readWrapperConfig } from './wrapper-config.ts';
import { findWrapperPods, noPod, type WrapperPod } from './wrapper-pods.ts';

/** A difference must be there again after this time, in milliseconds: changes need a moment to reach every node. */
const SETTLE_MS = 3_000;

/** Executes `fleet`. */
export const executeFleet = fleetExecutor(SETTLE_MS);

/** @param settleMs time after which nodes with differences are read again, in milliseconds */
export function fleetExecutor(settleMs: number): (call: Call) => Promise<number> {
  return (call) => compareFleet(call, settleMs);
}

async function compareFleet({ flags, args, session }: Call, settleMs: number): Promise<number> {
  const service = serviceArgument(args, flags);
  const port = adminPort(flags);
  const limit = parallel(flags);
  const filter = filterOf(flags, service);
  const client = await createKubeClient(userKubeconfig(flags));
  try {
    const pods = await findWrapperPods(client, flags, undefined);
    if (pods.length === 0) throw noPod(flags, undefined);
    const fleet: Fleet = { client, flags, port, limit, service, filter };
    const first = await compareAll(fleet, pods);
    assertKnown(first.expected, service);
    const nodes = await confirm(fleet, pods, first.nodes, settleMs);
    const without = first.expected.nodes.filter((name) => !pods.some(({ node }) => node === name));
    await session.print(fleetReport({ nodes, without, service }), flags);
    const isFine = nodes.every(({ differences, error }) => differences.length === 0 && !error);
    return isFine ? EXIT.ok : EXIT.findings;
  } finally {
    await client.close();
  }
}

interface Fleet {
  readonly client: KubeClient;
  readonly flags: Flags;
  readonly port: number;
  /** Nodes that are read at the same time. */
  readonly limit: number;
  /** Undefined: all Services. */
  readonly service: ServiceName | undefined;
  readonly filter: ServiceFilter;
}

function filterOf(flags: Flags, service: ServiceName | undefined): ServiceFilter {
  if (service === undefined) return serviceFilter(flags);
  return (name) => name === `${service.namespace}/${service.name}`;
}

/** What nodes see, beside what they should see. Both are read now. */
async function compareAll(
  fleet: Fleet,
  pods: readonly WrapperPod[],
): Promise<{ readonly expected: Expected; readonly nodes: NodeComparison[] }> {
  const expected = await readExpected(fleet, pods[0] as WrapperPod);
  const nodes = await forEachLimited(pods, fleet.limit, async (pod) => {
    const seen = await readNode(fleet, pod);
    return seen instanceof WrapperError
      ? { node: pod.node, rows: [], differences: [], error: seen.message }
      : compareNode(pod.node, seen, expected);
  });
  return { expected, nodes };
}

async function readExpected({ client, flags, filter }: Fleet, pod: WrapperPod): Promise<Expected> {
  const file = textFlag(flags, 'config');
  const settings =
    file === undefined
      ? settingsOf(undefined, await readWrapperConfig(client, pod))
      : settingsOf(file);
  const { namespacePolicies: namespaces, fabedgeCluster } = settings;
  const optional = { namespaces, communities: fabedgeCluster !== undefined };
  const cluster = await readCluster(userKubeconfig(flags), optional);
  return expectedOf(simulate(cluster, settings, filter));
}

async function readNode(
  { client, flags, port, service }: Fleet,
  pod: WrapperPod,
): Promise<Seen | WrapperError> {
  const admin = createRemoteAdmin(client, pod, port);
  try {
    return await readSeen(admin, flags, service);
  } catch (error) {
    return WrapperError.from(error, 'Unreachable');
  } finally {
    admin.close();
  }
}

/** Reads nodes with differences again, and keeps those that are still there. */
async function confirm(
  fleet: Fleet,
  pods: readonly WrapperPod[],
  nodes: readonly NodeComparison[],
  settleMs: number,
): Promise<NodeComparison[]> {
  const doubtful = nodes.filter(({ differences }) => differences.length > 0);
  if (doubtful.length === 0) return [...nodes];
  await delay(settleMs);
  const names = new Set(doubtful.map(({ node }) => node));
  const again = await compareAll(
    fleet,
    pods.filter(({ node }) => names.has(node)),
  );
  const byNode = new Map(again.nodes.map((each) => [each.node, each]));
  return nodes.map((each) => {
    const later = byNode.get(each.node);
    if (later === undefined) return each;
    const before = new Set(each.differences.map(({ service }) => service));
    return {
      ...later,
      differences: later.differences.filter(({ service }) => before.has(service)),
    };
  });
}

function assertKnown({ services }: Expected, service: ServiceName | undefined): void {
  if (service === undefined || services.size > 0) return;
  const name = `${service.namespace}/${service.name}`;
  throw new WrapperError('NotFound', `there is no Service ${name} that kube-proxy watches`);
}
