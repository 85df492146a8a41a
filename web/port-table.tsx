import type { PortExplanation } from '../src/diagnosis/explain/explanation.ts';
import { formatNumber } from '../src/text/numbers.ts';

/** How one port was decided. */
export function PortTable({
  port: { family, port, keys, winner, why, next },
}: {
  readonly port: PortExplanation;
}) {
  return (
    <>
      <h3>
        {family} {port.replace(/\/$/, '')}: {why}
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
                <td class="number">{formatNumber(key.ready)}</td>
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
