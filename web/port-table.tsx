import type { PortExplanation } from '../src/diagnosis/explain/explanation.ts';
import { portTitle } from '../src/diagnosis/explain/port-title.ts';
import { formatNumber } from '../src/text/numbers.ts';

/** How one port was decided. */
export function PortTable({ port }: { readonly port: PortExplanation }) {
  const { keys, winner, why, next } = port;
  return (
    <>
      <h3>
        {portTitle(port)}: {why}
      </h3>
      {keys.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>Key</th>
              <th>Ready</th>
              <th>Terminating</th>
              <th>Total</th>
            </tr>
          </thead>
          <tbody>
            {keys.map((key) => (
              <tr key={key.key} class={key.key === winner ? 'won' : ''}>
                <th scope="row">{key.key}</th>
                <td class="number">
                  {formatNumber(key.ready)}
                  {key.needs > 1 && ` of ${formatNumber(key.needs)}`}
                </td>
                <td class="number">{formatNumber(key.serving)}</td>
                <td class="number">{formatNumber(key.total)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {next !== undefined && (
        <p class="muted">
          Without the endpoints of {winner}, {next} would win.
        </p>
      )}
    </>
  );
}
