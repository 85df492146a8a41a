import { expect, test } from '@jest/globals';
import type { GainCase } from '../../../bench/kube-proxy/measure.ts';
import { formatGainTable } from '../../../bench/kube-proxy/report.ts';

const direct: GainCase = {
  mode: 'iptables',
  target: 'direct',
  firstSyncSeconds: 2.5,
  window: {
    ...{ seconds: 10, changes: 1000 },
    counters: { full: 0, partial: 4, seconds: 6, sliceEvents: 1000 },
    cpu: { kubeProxy: 7.25 },
  },
  memory: { kubeProxy: 382 },
  table: { chains: 5, rules: 320014, elements: 0, services: 2, endpoints: 20, bytes: 3e7 },
};

const wrapped: GainCase = {
  ...direct,
  target: 'wrapper',
  window: {
    ...direct.window,
    counters: { full: 0, partial: 0, seconds: 0, sliceEvents: 0 },
    cpu: { kubeProxy: 0, wrapper: 1.5 },
  },
  memory: { kubeProxy: 61.25, wrapper: 190 },
};

test('each case has a column, and cells stay empty where there is no such thing', () => {
  const rows = formatGainTable([direct, wrapped]).split('\n');
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()));
  const row = (what: string) => cells.find((row) => row[1] === what)?.slice(2, -1);
  expect(row('')).toEqual(['unit', 'iptables direct', 'iptables wrapper']);
  expect(row('rules')).toEqual(['', '320014', '320014']);
  expect(row('elements of sets and maps')).toBeUndefined();
  expect(row('slices that changed elsewhere')).toEqual(['', '1000', '1000']);
  expect(row('time that this took')).toEqual(['s', '10', '10']);
  expect(row('sync rounds, partial')).toEqual(['', '4', '0']);
  expect(row('a round takes, mean')).toEqual(['s', '1.50', '']);
  expect(row('CPU of the wrapper')).toEqual(['s', '', '1.50']);
});
