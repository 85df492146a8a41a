import { startControlPlane } from '../../../../harness/api-server/control-plane.ts';
import { createHistory } from '../../../../harness/history/history.ts';
import { WIDE_SHAPE } from '../../../../harness/history/history-shape.ts';
import type { InformerVariant } from '../../../../harness/informer/informer.ts';
import { startInformerFleet } from '../../../../harness/informer/informer-fleet.ts';
import { createNodeNetns } from '../../../../harness/network/node-netns.ts';
import { createKubeProxies } from '../../../../harness/node/kube-proxies.ts';
import type { Random } from '../../../../harness/random.ts';
import { makeAuthority } from '../../../support/http/certificates.ts';
import type { FrontOptions } from '../fault-front.ts';
import { SELF } from '../wrapper-under-test.ts';
import { ATOM_LABEL, createAtom } from './atom.ts';
import { startFaultNode } from './fault-node.ts';
import { startRecorders } from './recorder-fleet.ts';

/** A window that some clients fall out of, and bookmarks often. */
const VIEW_BOUNDS = {
  window: { entries: 60, bytes: 20_000 },
  bookmarkMs: 2_000,
  idleViewMs: 300_000,
};

export type FaultScene = Awaited<ReturnType<typeof startFaultScene>>;

/**
 * A control plane, a node all of whose connections can fail, and all kinds of clients of its wrapper.
 * @param protocols what the API server offers
 */
export async function startFaultScene(random: Random, protocols: FrontOptions['protocols']) {
  const cleanups: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    // No controllers: what is in the API is what the history wrote.
    const plane = await startControlPlane();
    cleanups.push(async () => await plane.stop());
    const netns = await createNodeNetns();
    cleanups.push(async () => await netns.stop());
    const authority = await makeAuthority();
    const node = await startFaultNode({
      plane,
      netns,
      authority,
      labels: { [ATOM_LABEL]: 'x' },
      viewBounds: VIEW_BOUNDS,
      protocols,
    });
    cleanups.push(async () => await node.stop());
    const { wrapper } = node;
    const atom = await createAtom(plane, netns, SELF);
    const history = await createHistory({
      api: () => plane.admin,
      random,
      self: SELF,
      shape: WIDE_SHAPE,
    });
    const kubeconfig = plane.kubeconfig('kubeProxy', {
      server: node.https.url,
      caFile: node.https.caFile,
    });
    const informers = await startInformerFleet({
      binaries: plane.binaries,
      netns,
      processes: [
        informerVariants({ server: node.url }, 'protobuf', true),
        informerVariants({ server: node.url }, 'protobuf', false),
        informerVariants({ server: node.url }, 'json', true),
        informerVariants({ server: node.url }, 'json', false),
        informerVariants({ kubeconfig }, 'protobuf', true),
      ],
      wanted: (variant) => {
        const rows = history.rows(variant);
        if (variant.resource === 'endpointslices' && variant.namespace === undefined) {
          for (const [key, row] of atom.rows()) rows.set(key, row);
        }
        return rows;
      },
      renewAfterMs: 3_000,
    });
    cleanups.push(async () => await informers.stop());
    const recorders = startRecorders(netns, { near: wrapper.url, relayed: node.url });
    cleanups.push(async () => await recorders.stop());
    const kubeProxies = await createKubeProxies(plane, { nodeName: SELF, netns, url: node.url });
    await Promise.all(kubeProxies.map(async (kubeProxy) => await kubeProxy.start(false)));
    cleanups.push(async () => {
      for (const kubeProxy of kubeProxies) await kubeProxy.close();
    });
    const address = netns.hostAddress;
    const target = { node, plane, kubeProxies, wrapper, random, history };
    // The authority issued the certificate that the wrapper expects, for this address.
    return { ...target, atom, informers, recorders, authority, address, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const RESOURCES = ['endpointslices', 'endpoints'] as const;

/**
 * Informers of all kinds: in protobuf and JSON, by streaming list and LIST, of one namespace and of all. That of all has
 * a resync and its handler none: it never gets an update that keeps the resourceVersion.
 */
function informerVariants(
  where: Pick<InformerVariant, 'server' | 'kubeconfig'>,
  contentType: 'protobuf' | 'json',
  streaming: boolean,
): InformerVariant[] {
  const by = where.kubeconfig === undefined ? 'http' : 'https';
  const how = [contentType, streaming ? 'streaming' : 'list', by].join(' ');
  return RESOURCES.flatMap((resource) => [
    {
      ...where,
      name: `${resource} ${how}`,
      resource,
      contentType,
      streaming,
      resyncSeconds: 1,
      handlerResyncSeconds: 0,
    },
    {
      ...where,
      name: `${resource} ${how} one`,
      namespace: 'one',
      resource,
      contentType,
      streaming,
    },
  ]);
}
