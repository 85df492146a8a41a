import { useEffect, useState } from 'preact/hooks';
import type { Explained } from '../../src/admin/explain/explained-service.ts';
import { shortKey } from '../../src/diagnosis/explain/short-key.ts';
import type { DemoCluster } from '../cluster.ts';
import { NodeCard, placeIn } from './node-card.tsx';
import { Policies } from './policies.tsx';

/** Name of the node that the page shows. */
const HERE = decodeURIComponent(location.pathname.split('/')[2] ?? '');

/** Time between two reads of the cluster, in milliseconds. */
const POLL_MS = 1_000;

/** The cluster in memory with buttons, above the page of one node. */
export function DemoBar() {
  const { cluster, explained, output, run } = useCluster();
  const { label, offered, choose } = useLabel(cluster);
  if (cluster === undefined) return null;
  const placeOf = (node: DemoCluster['nodes'][number]) => placeIn(node, label);
  const places = [...new Set(cluster.nodes.map(placeOf))].sort(emptyLast);
  return (
    <section class="demo" aria-label="Demo cluster">
      <p>
        <b>A cluster in memory.</b> Each box is a node, each dot an endpoint of{' '}
        <b>{explained?.service ?? 'the Service that you open below'}</b>: filled if kube-proxy on{' '}
        <b>{HERE}</b> gets it. Look from another node, move one to another {shortKey(label)}, let an
        endpoint fail (click its dot), or choose other keys.
      </p>
      {offered.length > 1 && (
        <label>
          Group and move nodes by{' '}
          <select value={label} onChange={({ currentTarget }) => choose(currentTarget.value)}>
            {offered.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      )}
      <div class="places">
        {places.map((place) => (
          <fieldset key={place}>
            <legend>
              {place === '' ? `no ${shortKey(label)}` : `${shortKey(label)} ${place}`}
            </legend>
            {cluster.nodes
              .filter((node) => placeOf(node) === place)
              .map((node) => (
                <NodeCard
                  key={node.name}
                  node={node}
                  here={node.name === HERE}
                  label={label}
                  places={places}
                  endpoints={explained?.endpoints.filter((each) => each.node === node.name) ?? []}
                  run={run}
                />
              ))}
          </fieldset>
        ))}
      </div>
      {cluster.moreNodes > 0 && <p>and {cluster.moreNodes} more nodes</p>}
      {explained !== undefined && explained.service === cluster.service && (
        <Policies service={explained.service} present={cluster.policy} label={label} run={run} />
      )}
      <output>{output === '' ? '' : `> ${output}`}</output>
    </section>
  );
}

/** What the browser's tab remembers, because each node has a page of its own. */
const CHOSEN = 'kube-proxy-wrapper.demo.label';

/** The label by which nodes are grouped. What was once offered remains, although no policy uses it any more. */
function useLabel(cluster: DemoCluster | undefined) {
  const [chosen, setChosen] = useState(() => sessionStorage.getItem(CHOSEN) ?? undefined);
  const [offered, offer] = useState<readonly string[]>([]);
  const present = cluster?.labels ?? [];
  const added = present.filter((each) => !offered.includes(each));
  useEffect(() => {
    if (added.length > 0) offer([...offered, ...added]);
  }, [added.join()]);
  const label = offered.find((each) => each === chosen) ?? offered[0] ?? present[0] ?? 'site';
  const choose = (next: string): void => {
    sessionStorage.setItem(CHOSEN, next);
    setChosen(next);
  };
  return { label, offered, choose };
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
      document.dispatchEvent(new Event('changed'));
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
