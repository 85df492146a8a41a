import type { Explained } from '../../src/admin/explain/explained-service.ts';
import type { DemoCluster } from '../cluster.ts';

interface NodeCardProps {
  readonly node: DemoCluster['nodes'][number];
  /** Whether the page shows this node. */
  readonly here: boolean;
  readonly sites: readonly string[];
  /** Endpoints of the open Service on this node. */
  readonly endpoints: Explained['endpoints'];
  readonly run: (command: string) => Promise<void>;
}

/** A node: a link to its page, its endpoints, and buttons that move it. */
export function NodeCard({ node: { name, labels }, here, sites, endpoints, run }: NodeCardProps) {
  const site = labels.site ?? '';
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
        sites={sites.filter((each) => each !== site)}
        move={(to) => run(`label ${name} ${to === '' ? 'site-' : `site=${to}`}`)}
      />
    </div>
  );
}

/** More sites than this are a list, because buttons would take too much room. */
const MAX_BUTTONS = 3;

interface MovesProps {
  readonly name: string;
  /** Sites to which the node can move; an empty name: no site. */
  readonly sites: readonly string[];
  readonly move: (site: string) => Promise<void>;
}

/** Moves a node to another site. */
function Moves({ name, sites, move }: MovesProps) {
  const textOf = (site: string) => (site === '' ? 'to no site' : `to site ${site}`);
  if (sites.length <= MAX_BUTTONS) {
    return (
      <span class="moves">
        {sites.map((each) => (
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
        const to = sites[Number(currentTarget.value)];
        currentTarget.value = '-1';
        if (to !== undefined) await move(to);
      }}
    >
      <option value="-1">move …</option>
      {sites.map((each, index) => (
        <option key={each} value={index}>
          {textOf(each)}
        </option>
      ))}
    </select>
  );
}
