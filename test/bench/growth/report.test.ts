import { expect, test } from '@jest/globals';
import { growthCurves } from '../../../bench/growth/clusters.ts';
import type { MeasuredCluster } from '../../../bench/growth/measure-cluster.ts';
import { measuredCurve } from '../../../bench/growth/report.ts';
import { summarize } from '../../../bench/measure.ts';

test('a curve has an exponent for each measure that two of its clusters have', () => {
  const cluster = (services: number, figures: Record<string, number>): MeasuredCluster => ({
    cluster: { services, endpoints: 10, nodes: 100, sites: 10 },
    measures: Object.entries(figures).map(([id, value]) => ({
      ...{ id, what: id, unit: 'ms' },
      wrapper: summarize([value]),
    })),
  });
  const clusters = [
    cluster(100, { 'memory.synced': 90, 'list.filtered': 2 }),
    cluster(1000, { 'memory.synced': 180, 'list.filtered': 20, 'relabel.site.last': 30 }),
  ];
  const [curve] = growthCurves(true);
  if (curve === undefined) throw new Error('no curve');
  const measured = measuredCurve(curve, clusters, cluster(1, { 'memory.synced': 80 }));
  expect(measured.exponents['list.filtered']).toBeCloseTo(1);
  expect(measured.exponents['memory.synced']).toBeCloseTo(Math.log10(2));
  expect(measured.exponentsAbove['memory.synced']).toBeCloseTo(1);
  expect(measured.exponents).not.toHaveProperty(['relabel.site.last']);
});

test('each curve of a run goes through two clusters at least, of a smoke run one does', () => {
  const sizesOf = (smoke: boolean) =>
    growthCurves(smoke).map(
      ({ of, clusters }) => new Set(clusters.map((cluster) => cluster[of])).size,
    );
  expect(Math.min(...sizesOf(false))).toBeGreaterThan(1);
  expect(Math.max(...sizesOf(true))).toBeGreaterThan(1);
});
