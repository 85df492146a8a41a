import { useState } from 'preact/hooks';
import type { EndpointExplanation } from '../src/diagnosis/explain/explanation.ts';
import { formatNumber } from '../src/text/numbers.ts';

/** Number of endpoints that are listed before the user clicks for more. */
const FIRST = 100;

type State = EndpointExplanation['state'];

/** States with a sign each, so that they differ not only by colour. */
const STATES: Readonly<Record<State, string>> = {
  ready: 'ready',
  serving: '◐ terminating',
  notReady: '✕ not ready',
};

/** All endpoints of a Service, kept ones first. */
export function EndpointTable({
  endpoints,
  omitted,
}: {
  readonly endpoints: readonly EndpointExplanation[];
  /** Number of endpoints that the response does not list. */
  readonly omitted: number;
}) {
  const [all, setAll] = useState(false);
  const sorted = endpoints.toSorted((a, b) => Number(b.kept) - Number(a.kept));
  const listed = all ? sorted : sorted.slice(0, FIRST);
  return (
    <>
      <h3>Endpoints</h3>
      <table class="endpoints">
        <thead>
          <tr>
            <th>Kept</th>
            <th>Address</th>
            <th>Node</th>
            <th>State</th>
            <th class="why">Why</th>
          </tr>
        </thead>
        <tbody>
          {listed.map(({ address, node, zone, state, object, kept, reason }, index) => (
            <tr key={`${object} ${address} ${index}`} class={kept ? state : `left-out ${state}`}>
              <td>{keptText(kept, state)}</td>
              <th scope="row" title={object}>
                {address}
              </th>
              <td title={zone === '' ? undefined : `zone ${zone}`}>{node}</td>
              <td class="state">{STATES[state]}</td>
              <td class="why">{reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {listed.length < endpoints.length && (
        <button type="button" onClick={() => setAll(true)}>
          {formatNumber(endpoints.length - listed.length)} more
        </button>
      )}
      {omitted > 0 && <p class="muted">{formatNumber(omitted)} more are not listed.</p>}
    </>
  );
}

function keptText(kept: boolean, state: State): string {
  if (!kept) return '○ no';
  return state === 'ready' ? '● yes' : '◌ yes';
}
