import { exponentOf, type Point } from '../fit.ts';
import { describeRun, type Run } from '../machine.ts';
import type { Measure } from '../measure.ts';
import { figure, formatRows } from '../table.ts';
import type { MeasuredWorld } from './measure-world.ts';
import { ALMOST_EMPTY, type Curve } from './worlds.ts';

/** All that a run has found. */
export interface GrowthResults extends Run {
  readonly almostEmpty: MeasuredWorld;
  readonly curves: readonly MeasuredCurve[];
}

/** A curve, and how steep it is. */
export interface MeasuredCurve extends Omit<Curve, 'worlds'> {
  readonly worlds: readonly MeasuredWorld[];
  /** By the id of the measure; see {@link exponentOf}. */
  readonly exponents: Readonly<Record<string, number>>;
  /** The same, of what is above the figures of the almost empty world. */
  readonly exponentsAbove: Readonly<Record<string, number>>;
}

/** The measures that a table shows, of which the median counts. */
const COLUMNS = [
  { id: 'list.filtered', name: 'LIST, ms' },
  { id: 'relabel.site.first', name: 'relabel, first, ms' },
  { id: 'relabel.site.last', name: 'last, ms' },
  { id: 'memory.synced', name: 'synced, MB' },
  { id: 'start.ready', name: 'start, ms' },
] as const;

/** @param worlds of the curve, in its order */
export function measuredCurve(
  curve: Curve,
  worlds: readonly MeasuredWorld[],
  almostEmpty: MeasuredWorld,
): MeasuredCurve {
  const exponents = (above: boolean): Record<string, number> => {
    const found = COLUMNS.map(({ id }) => {
      const points = worlds.flatMap(({ world, measures }): Point[] => {
        const y = medianOf(measures, id);
        return y === undefined ? [] : [[world[curve.of], y]];
      });
      const constant = above ? (medianOf(almostEmpty.measures, id) ?? 0) : 0;
      return [id, exponentOf(points, constant)] as const;
    });
    return Object.fromEntries(
      found.filter((each): each is [(typeof each)[0], number] => each[1] !== undefined),
    );
  };
  return { ...curve, worlds, exponents: exponents(false), exponentsAbove: exponents(true) };
}

/** One paragraph about where and when, and a table. */
export function formatGrowth({ machine, seconds, almostEmpty, curves }: GrowthResults): string {
  const header = ['', ...COLUMNS.map(({ name }) => name), 'slices relabelled'];
  const rows = curves.flatMap((curve) => [
    [`**${curve.what}**`],
    ...curve.worlds.map(({ world, measures }) => worldRow(String(world[curve.of]), measures)),
    ['exponent', ...exponentCells(curve.exponents)],
    ['exponent, above almost empty', ...exponentCells(curve.exponentsAbove)],
  ]);
  const worlds = new Set([almostEmpty, ...curves.flatMap((curve) => curve.worlds)]).size;
  const empty = worldRow(`almost empty: ${ALMOST_EMPTY.services} Services`, almostEmpty.measures);
  return `${describeRun(machine, seconds, `${worlds} worlds`)}\n\n${formatRows([header, empty, ...rows], 1)}`;
}

function worldRow(name: string, measures: readonly Measure[]): string[] {
  const cells = COLUMNS.map(({ id }) => cell(medianOf(measures, id)));
  const slices = measures.find(({ id }) => id === 'relabel.site.last')?.slices ?? 0;
  return [name, ...cells, String(slices)];
}

function exponentCells(exponents: Readonly<Record<string, number>>): string[] {
  return COLUMNS.map(({ id }) => exponents[id]?.toFixed(2) ?? '');
}

function cell(value: number | undefined): string {
  return value === undefined ? '' : figure(value);
}

function medianOf(measures: readonly Measure[], id: string): number | undefined {
  return measures.find((measure) => measure.id === id)?.wrapper.p50;
}
