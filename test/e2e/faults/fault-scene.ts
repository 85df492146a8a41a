import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { createHistory, type History } from '../support/history.ts';
import { asRows, viewOf } from '../support/model.ts';
import type { Random } from '../support/random.ts';
import { ATOM_LABEL, type AtomScene, createAtom } from './atom.ts';
import { type FaultKubeProxy, startKubeProxies } from './fault-kube-proxies.ts';
import { type FaultNode, startFaultNode } from './fault-node.ts';
import { type InformerFleet, startInformerFleet, type WantedRows } from './informer-fleet.ts';
import { type RecorderFleet, startRecorders } from './recorder-fleet.ts';

/** A control plane, a node behind relays, and all kinds of clients of its wrapper. */
export interface FaultScene {
  readonly plane: ControlPlane;
  readonly node: FaultNode;
  readonly history: History;
  readonly atom: AtomScene;
  readonly informers: InformerFleet;
  readonly recorders: RecorderFleet;
  readonly kubeProxies: readonly FaultKubeProxy[];
  stop(): Promise<void>;
}

const SELF = 'here';

/** A window that some clients fall out of, and bookmarks often. */
const SETTINGS = {
  windowEntries: 60,
  windowBytes: 20_000,
  bookmarkSeconds: 2,
  // A body without an end is to be left soon.
  maxListBytes: 16 * 1024 * 1024,
};

export async function startFaultScene(random: Random): Promise<FaultScene> {
  const cleanups: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  const later = <T>(made: T, cleanup: (made: T) => Promise<void>): T => {
    cleanups.push(async () => await cleanup(made));
    return made;
  };
  try {
    // No controllers: what is in the API is what the history wrote.
    const plane = later(
      await startControlPlane({ controllers: false }),
      async (made) => await made.stop(),
    );
    const labels = { [ATOM_LABEL]: 'x' };
    const node = later(
      await startFaultNode({ plane, nodeName: SELF, labels, settings: SETTINGS }),
      async (made) => await made.stop(),
    );
    const atom = await createAtom(plane, node.netns, SELF);
    const history = await createHistory({
      api: plane.admin,
      random,
      self: SELF,
      others: ['n1', 'n2', 'n3'],
      namespaces: ['one', 'two'],
      all: true,
    });
    const informers = later(
      await startInformerFleet({
        binaries: plane.binaries,
        netns: node.netns,
        server: node.url,
        kubeconfig: plane.kubeconfig('kubeProxy', {
          server: node.https.url,
          caFile: node.https.caFile,
        }),
        wanted: wantedRows(history, atom),
      }),
      async (made) => await made.stop(),
    );
    const urls = { near: node.wrapper().url, relayed: node.url };
    const recorders = later(startRecorders(node.netns, urls), async (made) => await made.stop());
    const kubeProxies = later(await startKubeProxies(plane, node, SELF), async (made) => {
      for (const kubeProxy of made) await kubeProxy.close();
    });
    return { plane, node, history, atom, informers, recorders, kubeProxies, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function wantedRows(history: History, atom: AtomScene): WantedRows {
  return ({ resource, namespace }) => {
    const slices = resource === 'endpointslices';
    const rows = asRows(viewOf(history, SELF, slices ? history.slices : history.endpoints));
    if (slices) for (const [key, row] of atom.rows()) rows.set(key, row);
    // The API server's own Service; nobody manages it, and it goes and comes with the API server.
    rows.set('default/kubernetes', ['10.99.0.1']);
    const shown = [...rows].filter(
      ([key]) => namespace === undefined || key.startsWith(`${namespace}/`),
    );
    return new Map(shown);
  };
}
