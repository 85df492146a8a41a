import { startControlPlane } from '../../../../harness/api-server/control-plane.ts';
import { createHistory } from '../../../../harness/history/history.ts';
import { WIDE_SHAPE } from '../../../../harness/history/history-shape.ts';
import type { InformerVariant } from '../../../../harness/informer/informer.ts';
import { startInformerFleet } from '../../../../harness/informer/informer-fleet.ts';
import { createNodeNetns } from '../../../../harness/network/node-netns.ts';
import { createKubeProxies } from '../../../../harness/node/kube-proxies.ts';
import type { Random } from '../../../../harness/random.ts';
import { withCleanups } from '../../../../harness/with-cleanups.ts';
import type { FrontOptions } from '../fault-front.ts';
import { rowsOfRelays, untilRelayInUse } from '../recovery/relays.ts';
import { SELF } from '../wrapper-under-test.ts';
import { ATOM_LABEL, createAtom } from './atom.ts';
import { startFaultNode } from './fault-node.ts';

export interface NodeStageOptions {
  readonly random: Random;
  /**
   * What the API server offers at two fronts between the wrapper and itself, and clients behind fronts too. Default: no
   * fronts at all.
   */
  readonly protocols?: FrontOptions['protocols'];
  /** Relays between the wrapper and the first front, or the API server; default: none. */
  readonly relays?: number;
  /** Without fronts: there is another API server, which the wrapper prefers. Default false. */
  readonly another?: boolean;
  /** Of the wrapper; default: as in its settings. */
  readonly logLevel?: string;
  /** Flags of the API server. */
  readonly apiServerArgs?: readonly string[];
}

export type NodeStage = Awaited<ReturnType<typeof startNodeStage>>;

/**
 * A control plane without controllers, a node with a wrapper, informers, and two kube-proxies with kernels of their
 * own; and a random history for them to follow.
 */
export async function startNodeStage(options: NodeStageOptions) {
  return await withCleanups((started) => startParts(options, started));
}

async function startParts(
  { random, protocols, relays, another, logLevel, apiServerArgs = [] }: NodeStageOptions,
  started: AsyncDisposableStack,
) {
  const plane = await startControlPlane({ apiServerArgs });
  started.defer(() => plane.stop());
  const preferred = another === true ? await plane.startAnother() : undefined;
  const netns = await createNodeNetns();
  started.defer(() => netns.stop());
  const node = await startFaultNode({
    plane,
    netns,
    protocols,
    relays,
    preferred,
    logLevel,
    labels: { [ATOM_LABEL]: 'x' },
  });
  started.defer(() => node.stop());
  const { wrapper, url } = node;
  const atom = await createAtom(plane, netns, SELF);
  const api = () => plane.admin;
  const history = await createHistory({ api, random, self: SELF, shape: WIDE_SHAPE });
  const { https } = node;
  const secured = { kubeconfig: plane.kubeconfig('kubeProxy', { ...https, server: https.url }) };
  const everyKind = [
    informerVariants({ server: url }, 'json', true),
    informerVariants({ server: url }, 'json', false),
    informerVariants(secured, 'protobuf', true),
  ];
  const informers = await startInformerFleet({
    binaries: plane.binaries,
    netns,
    processes: [
      informerVariants({ server: url }, 'protobuf', true),
      informerVariants({ server: url }, 'protobuf', false),
      ...(protocols === undefined ? [] : everyKind),
    ],
    wanted: (variant) => {
      const rows = history.rows(variant);
      if (variant.resource === 'endpointslices' && variant.namespace === undefined) {
        for (const [key, row] of [...atom.rows(), ...rowsOfRelays(node.relays)]) rows.set(key, row);
      }
      return rows;
    },
  });
  started.defer(() => informers.stop());
  const kubeProxies = await createKubeProxies(plane, { nodeName: SELF, netns, url });
  for (const kubeProxy of kubeProxies) started.defer(() => kubeProxy.close());
  await Promise.all(kubeProxies.map((kubeProxy) => kubeProxy.start(false)));
  if (node.relays.length > 0) await untilRelayInUse(wrapper, node.relays);
  const settleKernels = async (timeoutMs = 60_000) => {
    const wanted = { ...history.backends(), ...atom.backends() };
    const times = kubeProxies.map(async (kubeProxy) => await kubeProxy.settle(wanted, timeoutMs));
    return await Promise.all(times);
  };
  return {
    plane,
    /** The API server that the wrapper prefers; undefined: the API server of the plane. */
    preferred,
    netns,
    node,
    wrapper,
    atom,
    history,
    informers,
    kubeProxies,
    /**
     * Waits until both kernels hold what the model computes for each Service. Resolves with the milliseconds until each
     * of them did.
     */
    settleKernels,
    /** Relabels the own node so that other backends of a certain Service win, and waits for the kernels. */
    probe: async () => {
      await atom.flip();
      return Math.max(...(await settleKernels()));
    },
    /** They remember nothing then, nor how often they were refused. Waits until they have written their tables. */
    restartKubeProxies: async () => {
      await Promise.all(kubeProxies.map((kubeProxy) => kubeProxy.stop()));
      await Promise.all(kubeProxies.map((kubeProxy) => kubeProxy.start(true)));
      await settleKernels();
    },
  };
}

const RESOURCES = ['endpointslices', 'endpoints'] as const;

/**
 * Informers of all kinds: in protobuf and JSON, by streaming list and LIST, of one namespace and of all. The one of all
 * namespaces has a resync and its handler none: it never gets an update that keeps the resourceVersion.
 */
function informerVariants(
  where: Pick<InformerVariant, 'server' | 'kubeconfig'>,
  contentType: 'protobuf' | 'json',
  streaming: boolean,
): InformerVariant[] {
  const by = where.kubeconfig === undefined ? 'http' : 'https';
  const how = [contentType, streaming ? 'streaming' : 'list', by].join(' ');
  return RESOURCES.flatMap((resource) => {
    const variant = { ...where, name: `${resource} ${how}`, resource, contentType, streaming };
    return [
      { ...variant, resyncSeconds: 1, handlerResyncSeconds: 0 },
      { ...variant, name: `${variant.name} one`, namespace: 'one' },
    ];
  });
}
