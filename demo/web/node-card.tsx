import type { Explained } from '../../src/admin/explain/explained-service.ts';
import { shortKey } from '../../src/diagnosis/explain/short-key.ts';
import type { DemoCluster } from '../cluster.ts';

interface NodeCardProps {
  readonly node: DemoCluster['nodes'][number];
  /** Whether the page shows this node. */
  readonly here: boolean;
  /** The label by which nodes are grouped. */
  readonly label: string;
  /** Its values; empty: nodes without it. */
  readonly places: readonly string[];
  /** Endpoints of the open Service on this node. */
  readonly endpoints: Explained['endpoints'];
  readonly run: (command: string) => Promise<void>;
}

/** Where a node is; empty: it has no such label. */
export function placeIn({ labels }: DemoCluster['nodes'][number], label: string): string {
  return Object.hasOwn(labels, label) ? (labels[label] ?? '') : '';
}

/** A node: a link to its page, its endpoints, and buttons that move it. */
export function NodeCard(props: NodeCardProps) {
  const { node, here, label, places, endpoints, run } = props;
  const { name } = node;
  const place = placeIn(node, label);
  return (
    <div class={here ? 'card here' : 'card'}>
      <a
        href={`/nodes/${encodeURIComponent(name)}/${location.hash}`}
        aria-current={here ? 'page' : undefined}
        onClick={({ currentTarget }) => {
          currentTarget.hash = location.hash;
        }}
      >
        {name}
        {here && ' (here)'}
      </a>
      <span class="dots">
        {endpoints.map(({ address, kept, state }) => (
          <button
            type="button"
            key={address}
            class={`dot${kept ? ' kept' : ''}${state === 'ready' ? '' : ' failed'}`}
            aria-label={`${address}, ${kept ? 'kept' : 'left out'}, ${state}`}
            title={`${address}: ${kept ? 'kept' : 'left out'}, ${state}`}
            onClick={() => run(`${state === 'ready' ? 'notready' : 'ready'} ${address}`)}
          />
        ))}
      </span>
      <Moves
        name={name}
        kind={shortKey(label)}
        places={places.filter((each) => each !== place)}
        move={(to) => run(`label ${name} ${to === '' ? `${label}-` : `${label}=${to}`}`)}
      />
    </div>
  );
}

/** More places than this are a list, because buttons would take too much room. */
const MAX_BUTTONS = 3;

interface MovesProps {
  readonly name: string;
  /** What the places are, such as `site`. */
  readonly kind: string;
  /** Places to which the node can move; an empty name: none. */
  readonly places: readonly string[];
  readonly move: (place: string) => Promise<void>;
}

/** Moves a node to another place. */
function Moves({ name, kind, places, move }: MovesProps) {
  const textOf = (place: string) => (place === '' ? `to no ${kind}` : `to ${kind} ${place}`);
  if (places.length <= MAX_BUTTONS) {
    return (
      <span class="moves">
        {places.map((each) => (
          <button type="button" key={each} onClick={() => move(each)}>
            {textOf(each)}
          </button>
        ))}
      </span>
    );
  }
  return (
    <select
      aria-label={`Move ${name}`}
      value="-1"
      onChange={async ({ currentTarget }) => {
        const to = places[Number(currentTarget.value)];
        currentTarget.value = '-1';
        if (to !== undefined) await move(to);
      }}
    >
      <option value="-1">move …</option>
      {places.map((each, index) => (
        <option key={each} value={index}>
          {textOf(each)}
        </option>
      ))}
    </select>
  );
}
