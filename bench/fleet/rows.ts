import type { Bench } from '../bench.ts';
import { type Measure, summarize } from '../measure.ts';
import { figure } from '../table.ts';

/** Notes results of one place; `direct` is the figure to compare with. */
export type AddRow = (
  id: string,
  what: string,
  unit: Measure['unit'],
  samples: readonly number[],
  direct?: number,
) => void;

/** They are progress too, because these parts take long. @param part of the ids @param where it was measured */
export function rowsOf(bench: Bench, part: string, where: string): AddRow {
  return (id, what, unit, samples, direct) => {
    const compared = direct === undefined ? {} : { direct: summarize([direct]) };
    const named = { id: `${part}.${id}`, what: `${where}: ${what}`, unit };
    const wrapper = summarize(samples);
    bench.progress(`${named.what}: ${figure(wrapper.p50)} ${unit}, at most ${figure(wrapper.max)}`);
    bench.add({ ...named, ...compared, wrapper });
  };
}
