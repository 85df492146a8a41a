import { useEffect } from 'preact/hooks';
import type { NodeDetails } from '../src/admin/page/node-details.ts';
import { shortKey } from '../src/diagnosis/explain/short-key.ts';
import { isStarting } from './banner.tsx';
import type { PageState } from './poller.ts';

const PROGRAM = 'kube-proxy-wrapper';

/** The node, its topology labels and its health. */
export function Title({ page: { connection, answers } }: { readonly page: PageState }) {
  const node = answers.node?.body;
  const isReady = connection === 'live' && node?.causes.length === 0;
  const text = isReady ? 'ready' : healthOf(connection, node);
  useEffect(() => {
    const state = isReady || node === undefined ? '' : ` (${text})`;
    document.title = node === undefined ? PROGRAM : `${node.node}${state} · ${PROGRAM}`;
  }, [node?.node, isReady, text]);
  return (
    <header class="title">
      <h1>{node?.node ?? PROGRAM}</h1>
      <ul class="labels">
        {node?.keys
          .filter(({ key }) => node.labels[key] !== undefined && key !== 'kubernetes.io/hostname')
          .map(({ key, neighbours }) => (
            <li key={key} title={`${key}; neighbours: ${neighbours.join(', ')}`}>
              <code>
                {shortKey(key)}={node.labels[key]}
              </code>
            </li>
          ))}
        {node?.communities.map((name) => (
          <li key={name}>
            <code>community {name}</code>
          </li>
        ))}
      </ul>
      {node?.off === true && <strong class="notice">filtering is switched off on this node</strong>}
      {node?.dryRun === true && <strong class="notice">dry run: everything is shown</strong>}
      <div class="status">
        <output class={`health ${classOf(text)}`}>{text}</output>
        {node !== undefined && (
          <span class="about">
            {PROGRAM} {node.version}
            {node.docs !== undefined && (
              <a href={node.docs} rel="noreferrer" target="_blank">
                Docs
              </a>
            )}
          </span>
        )}
      </div>
    </header>
  );
}

function healthOf(connection: PageState['connection'], node: NodeDetails | undefined): string {
  if (connection === 'lost') return 'no answer';
  if (node === undefined) return 'connecting…';
  return isStarting(node) ? 'starting…' : 'not ready';
}

function classOf(health: string): string {
  if (health === 'ready') return 'ok';
  return health.endsWith('…') ? 'muted' : 'bad';
}
