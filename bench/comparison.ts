import { type ProgramMeasure, ratioOf, summarize } from './measure.ts';
import { figure, formatRows } from './table.ts';

/**
 * A table of programs beside each other: for each the median of its turns, and in brackets the ratio to the direct one.
 * Then the ratios of the first program to each other one, turn by turn: median, smallest and largest.
 */
export function formatComparison(measures: readonly ProgramMeasure[]): string {
  const [ours = '', ...others] = new Set(measures.map(({ program }) => program));
  const header = [
    '',
    'unit',
    'direct',
    ours,
    ...others,
    ...others.map((name) => `${ours} / ${name}`),
  ];
  const rows = [...Map.groupBy(measures, ({ id }) => id).values()].map((lines) => {
    const turns = Map.groupBy(lines, ({ program }) => program);
    const of = (name: string) => turns.get(name) ?? [];
    return [
      ...describeLine(lines),
      ...[ours, ...others].map((name) => medians(of(name))),
      ...others.map((name) => ratios(of(ours), of(name))),
    ];
  });
  return formatRows([header, ...rows], 2);
}

function describeLine(lines: readonly ProgramMeasure[]): string[] {
  const direct = lines.flatMap((line) => (line.direct === undefined ? [] : [line.direct.p50]));
  const [{ what, unit }] = lines as [ProgramMeasure];
  return [what, unit, direct.length === 0 ? '' : figure(summarize(direct).p50)];
}

function medians(turns: readonly ProgramMeasure[]): string {
  if (turns.length === 0) return '';
  const own = figure(summarize(turns.map(({ wrapper }) => wrapper.p50)).p50);
  const ofDirect = turns.map(ratioOf).filter((ratio) => ratio !== undefined);
  return ofDirect.length === 0 ? own : `${own} (${summarize(ofDirect).p50.toFixed(3)})`;
}

function ratios(ours: readonly ProgramMeasure[], theirs: readonly ProgramMeasure[]): string {
  const each = ours.flatMap(({ wrapper }, turn) => {
    const other = theirs[turn]?.wrapper.p50 ?? 0;
    // A difference of two times may be below zero.
    return other <= 0 || wrapper.p50 < 0 ? [] : [wrapper.p50 / other];
  });
  if (each.length === 0) return '';
  const { min, p50, max } = summarize(each);
  return `${p50.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`;
}
