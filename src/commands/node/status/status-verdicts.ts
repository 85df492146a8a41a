import type { LineState, StatusLine } from '../../../admin/status/status-line.ts';
import type { Outcome, Verdict } from '../check/verdict.ts';

const OUTCOMES: Readonly<Record<LineState, Outcome>> = {
  ok: 'ok',
  problem: 'fail',
  unknown: 'skip',
  notConnected: 'notYet',
};

/** A line of a status on a terminal. */
export function verdictOf({ id, state, text, detail, next }: StatusLine): Verdict {
  return {
    name: id,
    outcome: OUTCOMES[state],
    text: detail === undefined ? text : `${text} (${detail})`,
    ...(next === undefined ? {} : { next }),
  };
}
