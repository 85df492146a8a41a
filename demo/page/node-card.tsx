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
      <span class="moves">
        {sites
          .filter((each) => each !== site)
          .map((each) => (
            <button
              type="button"
              key={each}
              onClick={() => run(`label ${name} ${each === '' ? 'site-' : `site=${each}`}`)}
            >
              {each === '' ? 'to no site' : `to site ${each}`}
            </button>
          ))}
      </span>
    </div>
  );
}
