import type { Random } from '../random.ts';
import type { ModelEndpoint } from './expected-view.ts';
import type { HistoryShape } from './history-shape.ts';

/** The other nodes of a history. */
export const OTHERS = ['n1', 'n2', 'n3'] as const;
/** A node of another cluster, which has no Node here. */
const ABROAD = 'abroad';

/** A slice, or a part of an Endpoints object, that is written. */
interface Write {
  readonly random: Random;
  readonly shape: HistoryShape;
  readonly self: string;
  /** `namespace/name` */
  readonly service: string;
  readonly letter: string;
  readonly version: number;
  /** The other nodes that exist. */
  readonly nodes: ReadonlyMap<string, unknown>;
}

export function randomPorts({ random, shape, service }: Write): readonly string[] {
  const both = ['TCP/http', 'TCP/admin'];
  if (service === shape.steady?.service) return both;
  // The controller writes a slice without ports for Pods that lack a named port.
  return random.pick([['TCP/http'], ['TCP/admin'], both, both, both, []]);
}

/** Endpoints on random nodes, two at most on each. Their addresses tell the node, and differ between slices. */
export function randomEndpoints(write: Write): ModelEndpoint[] {
  const { random, shape, self, service, nodes } = write;
  const isSteady = service === shape.steady?.service;
  return [self, ...OTHERS, '', ABROAD].flatMap((node, index) =>
    [0, 1].flatMap((host): ModelEndpoint[] => {
      const isKept = isSteady && node !== '' && node !== ABROAD && host === 0;
      if (!isKept && !random.chance(node === '' ? 0.1 : 0.3)) return [];
      // That a Node was deleted is not known immediately, see History.
      const hasZone = node === '' || node === self || node === ABROAD || nodes.has(node);
      const zone = hasZone && random.chance(0.6) ? random.pick(['z1', 'z2']) : '';
      const state = isKept ? { state: 'ready' as const } : random.pick(shape.states);
      return [{ address: addressOf(write, index, host), node, zone, ...state }];
    }),
  );
}

function addressOf({ shape, letter, version }: Write, node: number, host: number): string {
  if (shape.freshAddresses) {
    return `10.${128 + 2 * node + host}.${Math.floor(version / 250)}.${(version % 250) + 1}`;
  }
  const number = 2 * 'abcde'.indexOf(letter) + host + 1;
  return letter === 'c' ? `fd00::${node + 1}:${number}` : `10.244.${node}.${number}`;
}
