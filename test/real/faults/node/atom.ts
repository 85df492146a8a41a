import {
  createNode,
  createService,
  createSlice,
  labelNode,
} from '../../../../harness/api-server/cluster-objects.ts';
import type { ControlPlane } from '../../../../harness/api-server/control-plane.ts';
import { persist } from '../../../../harness/history/persist.ts';
import type { NodeNetns } from '../../../../harness/network/node-netns.ts';
import type { Atom } from '../../../support/guarantees/watch-guarantees.ts';
import { toWritten } from '../../../support/recorder/written-object.ts';

export const ATOM_LABEL = 'atom';
const SERVICE = 'atom';
const CLUSTER_IP = '10.96.202.7';
const TARGET = `${CLUSTER_IP}:80`;
const SLICES = ['a', 'b', 'c'] as const;
const NODES = { x: 1, y: 2 } as const;
/** A value that no node with endpoints has. */
const NOWHERE = 'nowhere';

/**
 * A Service with several slices, whose endpoints all change when the own node's label does: clients may see
 * all of before or all of after. Or none: a process that starts cut off knows no other node of a label value if
 * the last one had no time to write them. The node `self` has the label `atom=x` already.
 */
export async function createAtom(plane: ControlPlane, netns: NodeNetns, self: string) {
  await createObjects(plane);
  const all = SLICES.flatMap((_, slice) => Object.values(NODES).map((n) => addressOf(slice, n)));
  await netns.addEndpoints(all.map((address) => `${address}:8080`));
  let now: keyof typeof NODES | typeof NOWHERE = 'x';
  const keys = SLICES.map((letter) => `default/${SERVICE}-${letter}`);
  const states: string[][] = [];
  const addresses = (slice: number) => (now === NOWHERE ? [] : [addressOf(slice, NODES[now])]);
  const relabel = async (value: typeof now) => {
    now = value;
    await persist(async () => void (await labelNode(plane.admin, self, { [ATOM_LABEL]: now })));
  };
  const backends = () =>
    SLICES.flatMap((_, slice) => addresses(slice))
      .map((address) => `${address}:8080`)
      .sort();
  return {
    /** Relabels the own node, so that all endpoints change. */
    flip: async () => await relabel(now === 'x' ? 'y' : 'x'),
    /** Relabels the own node, so that no endpoint is left. */
    empty: async () => await relabel(NOWHERE),
    /** What an informer of slices holds of it. */
    rows: () => new Map(keys.map((key, slice) => [key, addresses(slice)])),
    /** What the kernel holds of it. */
    backends: () => ({ [TARGET]: backends() }),
    /** Who answers there, and who should. */
    dial: async () => ({
      answers: Object.keys(await netns.dial(TARGET, 30)).sort(),
      wanted: backends(),
    }),
    /** Reads how its slices are now, as one of the states in which they may be seen. To be done when all is quiet. */
    learn: async (url: string) => {
      const answer = await netns.httpGet(`${url}/apis/discovery.k8s.io/v1/endpointslices`);
      const { items } = JSON.parse(answer?.body ?? '') as {
        items: Parameters<typeof toWritten>[0][];
      };
      const digests = new Map(items.map(toWritten).map(({ key, digest }) => [key, digest]));
      states.push(keys.map((key) => digests.get(key) ?? ''));
    },
    /** All that was learnt. */
    atom: (): Atom => ({ keys, states }),
  };
}

async function createObjects({ admin }: ControlPlane): Promise<void> {
  await createService(admin, {
    name: SERVICE,
    ports: [{ port: 80, targetPort: 8080 }],
    annotations: { topologyKeys: JSON.stringify([ATOM_LABEL]) },
    spec: { clusterIP: CLUSTER_IP },
  });
  for (const name of Object.keys(NODES)) {
    await createNode(admin, `atom-${name}`, { [ATOM_LABEL]: name });
  }
  for (const [index, letter] of SLICES.entries()) {
    await createSlice(admin, {
      name: `${SERVICE}-${letter}`,
      service: SERVICE,
      endpoints: Object.entries(NODES).map(([name, number]) => ({
        addresses: [addressOf(index, number)],
        nodeName: `atom-${name}`,
        conditions: { ready: true },
      })),
      ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    });
  }
}

function addressOf(slice: number, node: number): string {
  return `10.244.${50 + slice}.${node}`;
}
