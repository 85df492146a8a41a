import { shortKey } from './service.ts';
import type { PageState } from './store.ts';

/** The node, its topology labels and its health. */
export function Title({ page: { live, problem, node } }: { readonly page: PageState }) {
  const failed = node?.checks.filter(({ problem }) => problem !== undefined).length ?? 0;
  const health = failed === 0 ? 'ready' : `not ready: ${failed} problems`;
  return (
    <header class="title">
      <h1>{node?.node ?? 'kube-proxy-wrapper'}</h1>
      <ul class="labels">
        {node?.keys
          .filter(({ key }) => node.labels[key] !== undefined && key !== 'kubernetes.io/hostname')
          .map(({ key, neighbours }) => (
            <li key={key} title={`neighbours: ${neighbours.join(', ')}`}>
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
      {node?.off === true && <strong class="bad">filtering is switched off on this node</strong>}
      {node?.dryRun === true && <strong class="bad">dry run: everything is shown</strong>}
      <output class={`health ${live && failed === 0 ? 'ok' : 'bad'}`}>
        {live
          ? node === undefined
            ? 'connecting…'
            : health
          : (problem ?? 'no connection to the wrapper')}
      </output>
    </header>
  );
}
