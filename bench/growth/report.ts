import { exponentOf, type Point } from '../fit.ts';
import { describeRun, type Run } from '../machine.ts';
import type { Measure } from '../measure.ts';
import { figure, formatRows } from '../table.ts';
import { ALMOST_EMPTY, type Curve } from './clusters.ts';
import type { MeasuredCluster } from './measure-cluster.ts';

/** All that a run has found. */
export interface GrowthResults extends Run {
  readonly almostEmpty: MeasuredCluster;
  readonly curves: readonly MeasuredCurve[];
}

/** A curve, and how steep it is. */
export interface MeasuredCurve extends Omit<Curve, 'clusters'> {
  readonly clusters: readonly MeasuredCluster[];
  /** By the id of the measure; see {@link exponentOf}. */
  readonly exponents: Readonly<Record<string, number>>;
  /** The same, of what is above the figures of the almost empty cluster. */
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

/** @param clusters of the curve, in its order */
export function measuredCurve(
  curve: Curve,
  clusters: readonly MeasuredCluster[],
  almostEmpty: MeasuredCluster,
): MeasuredCurve {
  const exponents = (above: boolean): Record<string, number> => {
    const found = COLUMNS.map(({ id }) => {
      const points = clusters.flatMap(({ cluster, measures }): Point[] => {
        const y = medianOf(measures, id);
        return y === undefined ? [] : [[cluster[curve.of], y]];
      });
      const constant = above ? (medianOf(almostEmpty.measures, id) ?? 0) : 0;
      return [id, exponentOf(points, constant)] as const;
    });
    return Object.fromEntries(
      found.filter((each): each is [(typeof each)[0], number] => each[1] !== undefined),
    );
  };
  return { ...curve, clusters, exponents: exponents(false), exponentsAbove: exponents(true) };
}

/** One paragraph about where and when, and a table. */
export function formatGrowth({ machine, seconds, almostEmpty, curves }: GrowthResults): string {
  const header = ['', ...COLUMNS.map(({ name }) => name), 'slices relabelled'];
  const rows = curves.flatMap((curve) => [
    [`**${curve.what}**`],
    ...curve.clusters.map(({ cluster, measures }) =>
      clusterRow(String(cluster[curve.of]), measures),
    ),
    ['exponent', ...exponentCells(curve.exponents)],
    ['exponent, above almost empty', ...exponentCells(curve.exponentsAbove)],
  ]);
  const clusters = new Set([almostEmpty, ...curves.flatMap((curve) => curve.clusters)]).size;
  const empty = clusterRow(`almost empty: ${ALMOST_EMPTY.services} Services`, almostEmpty.measures);
  return `${describeRun(machine, seconds, `${clusters} clusters`)}\n\n${formatRows([header, empty, ...rows], 1)}`;
}

function clusterRow(name: string, measures: readonly Measure[]): string[] {
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
