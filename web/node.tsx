import type { NodeDetails } from '../src/admin/page/node-details.ts';
import type { LineState, NodeStatus } from '../src/admin/status/status-line.ts';
import { withDetail } from '../src/diagnosis/reading/causes.ts';
import { formatNumber } from '../src/text/numbers.ts';
import { Copy } from './copy.tsx';

/** This node, its neighbours and its connections. */
export function Node({
  state,
  status,
}: {
  readonly state: NodeDetails | undefined;
  readonly status: NodeStatus | undefined;
}) {
  if (state === undefined) return <p class="empty">Loading…</p>;
  return (
    <section class="node" aria-label="This node">
      {status !== undefined && <Status status={status} />}
      <Neighbours state={state} />
      <Labels state={state} />
      <Checks state={state} />
      <Corrected state={state} />
      <Connections state={state} />
    </section>
  );
}

const STATES: Readonly<Record<LineState, readonly [text: string, className: string]>> = {
  ok: ['✓ ok', 'ok'],
  problem: ['✕ problem', 'bad'],
  warning: ['! warning', 'warning'],
  unknown: ['? not known', ''],
  note: ['i note', ''],
  notConnected: ['– not used', ''],
};

/** What the command `status` says of this node. */
function Status({ status }: { readonly status: NodeStatus }) {
  return (
    <section>
      <h2>Is it well?</h2>
      <ul class="checks">
        {status.lines.map(({ id, state, text, detail, next }) => {
          const [sign, className] = STATES[state];
          return (
            <li key={`${id} ${text}`} class={className}>
              <b>{sign}</b>
              <span>
                {id}: {text}
                {detail !== undefined && ` (${detail})`}
                {next !== undefined && <span class="muted"> Next: {next}</span>}
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** The topology keys in use, and the nodes that match them. */
function Neighbours({ state }: { readonly state: NodeDetails }) {
  return (
    <section>
      <h2>Neighbours</h2>
      <table class="stack">
        <thead>
          <tr>
            <th>Key</th>
            <th>Meaning on this node</th>
            <th>Nodes</th>
            <th>Neighbours</th>
          </tr>
        </thead>
        <tbody>
          {state.keys.map(({ key, meaning, nodes, neighbours }) => (
            <tr key={key}>
              <th scope="row">{key}</th>
              <td class="wide">{meaning}</td>
              <td class="number" data-label="Nodes">
                {nodes === undefined ? '' : formatNumber(nodes)}
              </td>
              <td class="wide" data-label="Neighbours">
                {neighbours.join(', ')}
                {others(nodes, neighbours.length)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {state.keyCount > state.keys.length && (
        <p class="muted">{formatNumber(state.keyCount - state.keys.length)} more are not listed.</p>
      )}
    </section>
  );
}

/** Communities and labels of this node. */
function Labels({ state }: { readonly state: NodeDetails }) {
  return (
    <section>
      <h2>
        Node {state.node} <Copy text={state.node} label="Copy name" />
      </h2>
      <p>
        {state.communities.length === 0
          ? 'In no community.'
          : `Communities: ${state.communities.join(', ')}`}
      </p>
      <ul class="labels">
        {Object.entries(state.labels).map(([key, value]) => (
          <li key={key}>
            <code>
              {key}={value}
            </code>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The checks of /readyz. */
function Checks({ state }: { readonly state: NodeDetails }) {
  return (
    <section>
      <h2>Checks of /readyz</h2>
      <ul class="checks">
        {state.checks.map(({ name, problem, degraded, detail, remark }) => (
          <li key={name} class={problem === undefined ? 'ok' : 'bad'}>
            <b>
              {problem !== undefined ? '✕ failed' : degraded !== undefined ? '! degraded' : '✓ ok'}
            </b>
            <span>
              {decodeURIComponent(name)}
              {problem !== undefined && `: ${withDetail(problem, detail)}`}
              {degraded !== undefined && (
                <span class="warning">: {withDetail(degraded, detail)}</span>
              )}
              {remark !== undefined && <span class="warning">, {remark}</span>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Endpoints that are corrected from the container runtime. */
function Corrected({ state: { localRuntime } }: { readonly state: NodeDetails }) {
  if (localRuntime === undefined || localRuntime.count === 0) return null;
  const { corrected, count } = localRuntime;
  return (
    <section>
      <h2>Corrected from the container runtime</h2>
      <table class="stack">
        <thead>
          <tr>
            <th>Pod</th>
            <th>Object</th>
            <th>The API server said</th>
            <th>Now</th>
            <th>Since</th>
          </tr>
        </thead>
        <tbody>
          {corrected.map(({ pod, object, from, to, since }) => (
            <tr key={`${object} ${pod} ${from.address}`}>
              <th scope="row">{pod}</th>
              <td class="wide">{object}</td>
              <td data-label="Before">
                {from.address} {from.state}
              </td>
              <td data-label="Now">{to === undefined ? 'removed' : `${to.address} ${to.state}`}</td>
              <td data-label="Since">{new Date(since).toLocaleTimeString()}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {count > corrected.length && (
        <p class="muted">{formatNumber(count - corrected.length)} more are not listed.</p>
      )}
    </section>
  );
}

/** API servers, clients and views. */
function Connections({ state }: { readonly state: NodeDetails }) {
  return (
    <section>
      <h2>Upstream and clients</h2>
      <p>
        API server in use: <code>{state.servers[0]}</code>
        {state.servers.length > 1 && `, others: ${state.servers.slice(1).join(', ')}`}
        {state.failovers > 0 && `; ${state.failovers} fail-overs`}
      </p>
      <p>
        {formatNumber(state.watches)} watches of clients;{' '}
        {state.listeners
          .map(
            ({ name, connections, refused }) =>
              `${name}: ${formatNumber(connections)} connections, ${formatNumber(refused)} refused`,
          )
          .join('; ')}
      </p>
      <table class="stack">
        <thead>
          <tr>
            <th>View</th>
            <th>Encoding</th>
            <th>Objects</th>
            <th>Clients</th>
            <th>Upstream</th>
          </tr>
        </thead>
        <tbody>
          {state.views.map((view) => (
            <tr key={`${view.encoding} ${view.query}`}>
              <th scope="row" class="wide">
                <code>{decodeURIComponent(view.query)}</code>
              </th>
              <td>{view.encoding}</td>
              <td class="number" data-label="Objects">
                {formatNumber(view.objects)}
              </td>
              <td class="number" data-label="Clients">
                {formatNumber(view.clients)}
              </td>
              <td class={view.connected && view.started ? '' : 'bad'}>{upstream(view)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function others(nodes: number | undefined, named: number): string {
  const unnamed = (nodes ?? 0) - 1 - named;
  return named > 0 && unnamed > 0 ? ` and ${formatNumber(unnamed)} more` : '';
}

function upstream({ started, connected, fromDisk }: NodeDetails['views'][number]): string {
  if (fromDisk) return 'from disk';
  if (!started) return 'not complete yet';
  return connected ? 'connected' : 'unreachable';
}
