import type { Decisions as Answer, DecisionRecord } from '../src/admin/explain/decisions.ts';
import { shortKey } from '../src/diagnosis/explain/short-key.ts';
import { formatNumber } from '../src/text/numbers.ts';
import { Middle } from './middle.tsx';
import { OpenRow } from './open-row.tsx';

/** The path of the latest decisions. */
export const DECISIONS = 'decisions?limit=200';

/** The latest changes of decisions, newest first. */
export function Decisions({
  answer,
  problem,
  open,
  hrefOf,
}: {
  readonly answer: Answer | undefined;
  readonly problem: string | undefined;
  readonly open: string | undefined;
  /** The address that opens a Service. */
  readonly hrefOf: (service: string) => string;
}) {
  if (answer === undefined) return <p class="empty">{problem ?? 'Loading…'}</p>;
  const { decisions, count } = answer;
  if (count === 0) {
    return <p class="empty">No decision has changed since this view was opened.</p>;
  }
  return (
    <>
      {count > decisions.length && (
        <p class="sum">
          The last {formatNumber(decisions.length)} of {formatNumber(count)} changes
        </p>
      )}
      <table class="list stack decisions" aria-label="Decisions">
        <thead>
          <tr>
            <th class="time">Time</th>
            <th>Service</th>
            <th>Winner</th>
            <th class="kept-change">Kept</th>
            <th>Because</th>
          </tr>
        </thead>
        <tbody>
          {decisions.toReversed().map((each) => (
            <OpenRow
              key={each.number}
              service={each.service}
              href={hrefOf(each.service)}
              isOpen={each.service === open}
              before={<Time time={each.time} />}
            >
              <Cells of={each} />
            </OpenRow>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Time({ time }: { readonly time: string }) {
  return (
    <td class="time">
      <time dateTime={time} title={new Date(time).toLocaleString()} class="muted">
        {shortTime(new Date(time))}
      </time>
    </td>
  );
}

function Cells({ of }: { readonly of: DecisionRecord }) {
  const { from, to, keptBefore, keptAfter, cause } = of;
  return (
    <>
      <td data-label="Winner">
        <Middle text={from === to ? winner(to) : `${winner(from)} → ${winner(to)}`} />
      </td>
      <td class="kept-change" data-label="Kept">
        {keptText(keptBefore, keptAfter, from === to)}
      </td>
      <td class="muted" data-label="Because">
        <Middle text={because(cause)} />
      </td>
    </>
  );
}

/** The time of today, or date and time to the minute for older changes. */
function shortTime(time: Date): string {
  if (time.toDateString() === new Date().toDateString()) return time.toLocaleTimeString();
  return time.toLocaleString(undefined, {
    month: 'short',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
  });
}

function winner(keys: string | null): string {
  return keys === null ? '—' : keys.split(', ').map(shortKey).join(', ');
}

/** @param others whether the kept endpoints differ although their number is the same */
function keptText(before: number | null, after: number | null, others: boolean): string {
  if (before !== after) return `${count(before)} → ${count(after)}`;
  return others ? `${count(after)}, others` : count(after);
}

function count(kept: number | null): string {
  return kept === null ? 'all' : formatNumber(kept);
}

/** A cause as text. */
function because({ kind, subject }: DecisionRecord['cause']): string {
  switch (kind) {
    case 'endpoints':
      return `endpoints of ${subject}`;
    case 'policy':
      return 'the policy, or the Service itself';
    case 'own-node':
      return `this node changed: ${subject}`;
    case 'nodes':
      return `node ${subject}`;
  }
}
