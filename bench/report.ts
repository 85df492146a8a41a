import { describeRun, type Run } from './machine.ts';
import { type Measure, ratioOf, type Summary } from './measure.ts';
import type { BenchOptions } from './options.ts';
import { figure, formatRows } from './table.ts';

/** All that a run has found. */
export interface Results extends Run {
  readonly cluster: BenchOptions['cluster'];
  readonly rounds: number;
  readonly measures: readonly Measure[];
}

const HEADER = ['', 'unit', 'direct p50', 'p90', 'p99', 'wrapper p50', 'p90', 'p99', 'ratio', 'n'];

export function formatTable(measures: readonly Measure[]): string {
  return formatRows([HEADER, ...measures.map(row)], 2);
}

/** One paragraph about where, when and with what. */
export function formatContext(results: Results): string {
  const { machine, cluster, rounds, seconds } = results;
  const described = `${cluster.services} Services of one slice with ${cluster.endpoints} endpoints, ${cluster.nodes} nodes in ${cluster.sites} sites`;
  return describeRun(machine, seconds, `${described}; ${rounds} rounds`);
}

function row(measure: Measure): string[] {
  const { what, unit, direct, wrapper } = measure;
  const ratio = ratioOf(measure);
  return [
    what,
    unit,
    ...percentiles(direct),
    ...percentiles(wrapper),
    ratio === undefined ? '' : ratio.toFixed(3),
    String(wrapper.n),
  ];
}

/** Of fewer than 10 samples the 90th percentile would be the largest, and of fewer than 100 the 99th. */
function percentiles(summary: Summary | undefined): string[] {
  if (summary === undefined) return ['', '', ''];
  const { n, p50, p90, p99 } = summary;
  return [figure(p50), n < 10 ? '' : figure(p90), n < 100 ? '' : figure(p99)];
}
