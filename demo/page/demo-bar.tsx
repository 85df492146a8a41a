import { useEffect, useState } from 'preact/hooks';
import type { Explained } from '../../src/admin/explain/explained-service.ts';
import type { DemoCluster } from '../cluster.ts';
import { NodeCard } from './node-card.tsx';
import { Policies } from './policies.tsx';

/** Name of the node that the page shows. */
const HERE = decodeURIComponent(location.pathname.split('/')[2] ?? '');

/** Time between two reads of the cluster, in milliseconds. */
const POLL_MS = 1_000;

/** The cluster in memory with buttons, above the page of one node. */
export function DemoBar() {
  const { cluster, explained, output, run } = useCluster();
  if (cluster === undefined) return null;
  const sites = [...new Set(cluster.nodes.map(({ labels }) => labels.site ?? ''))].sort(emptyLast);
  return (
    <section class="demo" aria-label="Demo cluster">
      <p>
        <b>A cluster in memory.</b> Each box is a node, each dot an endpoint of{' '}
        <b>{explained?.service ?? 'the Service that you open below'}</b>: filled if kube-proxy on{' '}
        <b>{HERE}</b> gets it. Look from another node, move one to another site, let an endpoint
        fail (click its dot), or choose other keys.
      </p>
      <div class="sites">
        {sites.map((site) => (
          <fieldset key={site}>
            <legend>{site === '' ? 'no site' : `site ${site}`}</legend>
            {cluster.nodes
              .filter(({ labels }) => (labels.site ?? '') === site)
              .map((node) => (
                <NodeCard
                  key={node.name}
                  node={node}
                  here={node.name === HERE}
                  sites={sites}
                  endpoints={explained?.endpoints.filter((each) => each.node === node.name) ?? []}
                  run={run}
                />
              ))}
          </fieldset>
        ))}
      </div>
      {cluster.moreNodes > 0 && <p>and {cluster.moreNodes} more nodes</p>}
      {explained !== undefined && explained.service === cluster.service && (
        <Policies service={explained.service} present={cluster.policy} run={run} />
      )}
      <output>{output === '' ? '' : `> ${output}`}</output>
    </section>
  );
}

/** Polls the cluster, follows the open explanation, and runs commands. */
function useCluster() {
  const [cluster, setCluster] = useState<DemoCluster>();
  const [explained, setExplained] = useState<Explained>();
  const [output, setOutput] = useState('');
  useEffect(() => {
    let service = '';
    const poll = (): void => {
      // The next poll repairs an error. The page itself shows that the demo has ended.
      if (!document.hidden) read('/demo/cluster', service).then(setCluster, () => {});
    };
    const onExplained = (event: Event): void => {
      const now = (event as CustomEvent<Explained | null>).detail ?? undefined;
      setExplained(now);
      service = now?.service ?? '';
      poll();
    };
    poll();
    // Commands in the terminal do not notify the page.
    const timer = setInterval(poll, POLL_MS);
    document.addEventListener('explained', onExplained);
    return () => {
      clearInterval(timer);
      document.removeEventListener('explained', onExplained);
    };
  }, []);
  const run = async (command: string): Promise<void> => {
    try {
      setCluster(
        await read('/demo/command', explained?.service ?? '', { method: 'POST', body: command }),
      );
      setOutput(command);
    } catch (error) {
      setOutput(String(error));
    }
  };
  return { cluster, explained, output, run };
}

/** @param service the open one, `namespace/name`; empty: none */
async function read(
  path: string,
  service: string,
  options: RequestInit = {},
): Promise<DemoCluster> {
  const response = await fetch(`${path}?${new URLSearchParams({ node: HERE, service })}`, options);
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as DemoCluster;
}

function emptyLast(a: string, b: string): number {
  if (a === '' || b === '') return a === '' ? 1 : -1;
  return a < b ? -1 : 1;
}
