import { expect, test } from '@jest/globals';
import { BOUNDS, type Problem } from '../e2e/faults/bounds.ts';
import type { FaultKind } from '../e2e/faults/fault-kind.ts';
import { planHistories } from '../e2e/faults/recovery/fault-plan.ts';
import type { SeenObject } from '../e2e/faults/recovery/kept-client.ts';
import { judgeReadiness } from '../e2e/faults/recovery/readiness-watch.ts';
import { percentiles, RecoveryReport } from '../e2e/faults/recovery/recovery-report.ts';
import { Timeline, type TimelineSlice } from '../e2e/faults/recovery/timeline.ts';
import {
  judgeConnections,
  judgeLists,
  judgeRequests,
  judgeUsage,
} from '../e2e/faults/recovery/traffic-judge.ts';
import { ViewJudge } from '../e2e/faults/recovery/view-judge.ts';
import { toSeenRequest } from '../e2e/faults/seen-request.ts';
import { createRandom } from '../e2e/support/random.ts';

// Each check of the recovery suite, with a right history that it accepts and a planted bug that it finds.

/** One Service of one slice with an endpoint on each of `here`, `n1` and `n2`; only `n1` shares the site of `here`. */
function smallHistory() {
  const timeline = new Timeline({ site: 'a' });
  timeline.setNode('n1', { site: 'a' });
  timeline.setNode('n2', { site: 'b' });
  timeline.service('s').push({ topologyKeys: '["site"]', seq: timeline.nextSeq() });
  const write = () => {
    timeline.slice('s-a').push(writtenSlice(timeline.nextSeq()));
    return timeline.slice('s-a').last?.seq ?? 0;
  };
  const seq = write();
  const found: string[] = [];
  const judge = new ViewJudge(timeline, (problem) => found.push(problem));
  judge.restart(new Map(), 12);
  let shown = new Map<string, SeenObject>();
  const show = (shownSeq: number, nodes: readonly string[]) => {
    const object = shownSlice(shownSeq, nodes);
    judge.slice('s-a', object);
    shown = new Map([['s-a', object]]);
    judge.judge(shown);
  };
  const settle = (keep = 12) => judge.restart(shown, keep);
  return { timeline, judge, found, seq, write, show, settle };
}

const NODES = ['here', 'n1', 'n2'];

function addressOf(node: string, seq: number): string {
  return `10.${NODES.indexOf(node)}.0.${seq}`;
}

function writtenSlice(seq: number): TimelineSlice {
  const endpoints = NODES.map((node) => ({
    node,
    zone: undefined,
    state: 'ready' as const,
    address: addressOf(node, seq),
  }));
  return { seq, object: { service: 's', groups: [{ ports: ['http'], endpoints }] } };
}

function shownSlice(seq: number, nodes: readonly string[]): SeenObject {
  const annotations = { 'test.kube-proxy-wrapper.io/seq': String(seq) };
  return {
    metadata: { name: 's-a', resourceVersion: '1', annotations },
    endpoints: nodes.map((node) => ({ addresses: [addressOf(node, seq)] })),
  };
}

test('a view that follows the writes one by one is accepted', () => {
  const { timeline, found, seq, write, show } = smallHistory();
  show(seq, ['here', 'n1']);
  show(write(), ['here', 'n1']);
  timeline.setNode('n2', { site: 'a' });
  show(timeline.slice('s-a').last?.seq ?? 0, ['here', 'n1', 'n2']);
  expect(found).toEqual([]);
});

test('queries that fall behind on their own are accepted', () => {
  const { timeline, found, write, show } = smallHistory();
  timeline.setNode('n2', { site: 'a' });
  show(write(), ['here', 'n1']);
  expect(found).toEqual([]);
});

test('an endpoint that the policy forbids is found', () => {
  const { found, seq, show } = smallHistory();
  show(seq, ['here', 'n1', 'n2']);
  expect(found).toEqual([expect.stringContaining('no allowed combination')]);
});

test('a missing endpoint that the policy demands is found', () => {
  const { found, seq, show } = smallHistory();
  show(seq, ['here']);
  expect(found).toEqual([expect.stringContaining('no allowed combination')]);
});

test('a slice that goes back in time is found', () => {
  const { found, seq, write, show } = smallHistory();
  show(write(), ['here', 'n1']);
  show(seq, ['here', 'n1']);
  expect(found).toEqual([expect.stringContaining(`shows write ${seq}; allowed`)]);
});

test('labels that go back in time are found', () => {
  const { timeline, found, seq, show } = smallHistory();
  timeline.setNode('n2', { site: 'a' });
  show(seq, ['here', 'n1', 'n2']);
  show(seq, ['here', 'n1']);
  expect(found).toEqual([expect.stringContaining('no allowed combination')]);
});

test('a state from before the clients were last right is found', () => {
  const { found, seq, write, show, settle } = smallHistory();
  show(write(), ['here', 'n1']);
  settle();
  show(seq, ['here', 'n1']);
  expect(found).toEqual([expect.stringContaining(`shows write ${seq}; allowed`)]);
});

test.each([12, 3])(
  'a query whose lag did not show when the clients were right may show it later, of %i values',
  (keep) => {
    const { timeline, found, seq, show, settle } = smallHistory();
    show(seq, ['here', 'n1']);
    const service = timeline.service('s');
    const before = service.last;
    service.push(undefined);
    service.push({ topologyKeys: '["site"]', seq: timeline.nextSeq() });
    expect(service.last).not.toEqual(before);
    settle(keep);
    // The wrapper's own watch of Services is late: deleted, then created again.
    show(seq, NODES);
    show(seq, ['here', 'n1']);
    expect(found).toEqual([]);
    // It has caught up.
    settle(keep);
    show(seq, NODES);
    expect(found).toEqual([expect.stringContaining('no allowed combination')]);
  },
);

test('a lag that would have shown when the clients were right is not accepted later', () => {
  const { timeline, found, seq, show, settle } = smallHistory();
  show(seq, ['here', 'n1']);
  timeline.setNode('n2', { site: 'a' });
  show(seq, NODES);
  settle();
  show(seq, ['here', 'n1']);
  expect(found).toEqual([expect.stringContaining('no allowed combination')]);
});

test('an older state is accepted after a restore, and from the disk of a process that was killed', () => {
  const restored = smallHistory();
  const { state } = restored.timeline;
  restored.show(restored.write(), ['here', 'n1']);
  restored.timeline.restore(state);
  restored.show(restored.seq, ['here', 'n1']);
  expect(restored.found).toEqual([]);
  const killed = smallHistory();
  killed.show(killed.write(), ['here', 'n1']);
  killed.judge.mayGoBack = true;
  killed.show(killed.seq, ['here', 'n1']);
  expect(killed.found).toEqual([]);
});

test('a write that never was is found', () => {
  const { found, show } = smallHistory();
  show(99, ['here', 'n1']);
  expect(found).toEqual([expect.stringContaining('shows write 99')]);
});

test('an endpoint of another write is found', () => {
  const { judge, found, seq } = smallHistory();
  const right = shownSlice(seq, ['here']);
  judge.slice('s-a', { ...right, endpoints: [{ addresses: ['10.9.9.9'] }] });
  expect(found).toEqual([expect.stringContaining('shows 10.9.9.9')]);
});

test('an object that vanishes and was never deleted is found, a deleted one is not', () => {
  const { timeline, judge, found } = smallHistory();
  judge.slice('s-a', undefined);
  judge.service('s', undefined);
  expect(found).toEqual([
    expect.stringContaining('slice s-a vanished'),
    expect.stringContaining('Service s vanished'),
  ]);
  timeline.service('s').push(undefined);
  timeline.slice('s-a').push(undefined);
  judge.slice('s-a', undefined);
  judge.service('s', undefined);
  expect(found).toHaveLength(2);
});

const LIST = '/api/v1/services?labelSelector=x';

function requestsAt(times: readonly number[], url = LIST) {
  return times.map((at) => ({ ...toSeenRequest(url, 'application/json', 'h2'), at, status: 200 }));
}

function every(ms: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => index * ms);
}

test('5 requests a second are accepted, 6 are found', () => {
  const watch = `${LIST}&watch=true`;
  expect(judgeRequests(requestsAt(every(210, 200), watch))).toEqual([]);
  expect(judgeRequests(requestsAt(every(166, 200), watch))).toMatchObject([{ check: 'requests' }]);
});

test('two lists and one in 5 s are accepted, one more is found', () => {
  expect(judgeLists(requestsAt(every(5_000, 10)), 0)).toEqual([]);
  expect(judgeLists(requestsAt([0, 100, 5_100]), 0)).toEqual([]);
  expect(judgeLists(requestsAt([0, 100, 200]), 0)).toMatchObject([{ check: 'lists' }]);
  expect(judgeLists(requestsAt([0, 5_000, 10_000, 10_100, 10_200]), 0)).toHaveLength(1);
  expect(judgeLists(requestsAt([0, 100, 200, 300]), 1)).toEqual([]);
  const pages = requestsAt([0, 100, 200]).map((each) => ({ ...each, isHtml: true }));
  expect(judgeLists(pages, 0)).toEqual([]);
  const damaged = requestsAt([0, 200, 700]).map((each) => ({ ...each, isDamaged: true }));
  expect(judgeLists(damaged, 0)).toEqual([]);
});

test('a list that was refused counts as a request only', () => {
  const refused = requestsAt(every(300, 10)).map((each) => ({ ...each, status: 429 }));
  expect(judgeLists(refused, 0)).toEqual([]);
});

test('a check of one name is a request and not a list', () => {
  const name = 'fieldSelector=metadata.name%3Dweb%2Cmetadata.namespace%3Ddefault';
  const checks = requestsAt(every(300, 10), `${LIST}&${name}`);
  expect(checks[0]).toMatchObject({ verb: 'check', query: requestsAt([0])[0]?.query });
  expect(judgeLists(checks, 0)).toEqual([]);
});

test('5 new connections a second are accepted, 6 are found', () => {
  const judge = (ms: number, protocol: 'h2' | 'http/1.1') =>
    judgeConnections(every(ms, 100), { starts: 0, protocol });
  expect(judge(210, 'h2')).toEqual([]);
  expect(judge(166, 'h2')).toMatchObject([{ check: 'connections' }]);
  expect(judge(166, 'http/1.1')).toEqual([]);
  expect(judge(50, 'http/1.1')).toMatchObject([{ check: 'connections' }]);
});

test('log lines, CPU, memory and descriptors have bounds', () => {
  const before = { cpuSeconds: 0, peakMB: 0, descriptors: 0, logLines: 0 };
  const judge = (after: Partial<typeof before>, seconds: number): Problem[] =>
    judgeUsage({ before, after: { ...before, ...after }, seconds, starts: 0, kinds: [KIND] });
  expect(judge({ logLines: 10, cpuSeconds: 1.7, peakMB: 100, descriptors: 80 }, 1)).toEqual([]);
  expect(judge({ logLines: 11 }, 1)).toMatchObject([{ check: 'log' }]);
  expect(judge({ logLines: 20 }, 120)).toEqual([]);
  expect(judge({ logLines: 21 }, 120)).toMatchObject([{ check: 'log' }]);
  expect(judge({ cpuSeconds: 5 }, 10)).toMatchObject([{ check: 'cpu' }]);
  expect(judge({ peakMB: 300 }, 1)).toMatchObject([{ check: 'memory' }]);
  expect(
    judgeUsage({
      before: { ...before, peakMB: 300 },
      after: { ...before, peakMB: 300 },
      seconds: 1,
      starts: 0,
      kinds: [KIND],
    }),
  ).toEqual([]);
  const costly = (beforeMB: number, peakMB: number) =>
    judgeUsage({
      before: { ...before, peakMB: beforeMB },
      after: { ...before, peakMB },
      seconds: 1,
      starts: 0,
      kinds: [{ ...KIND, memoryMB: 48 }],
    });
  expect(costly(100, 300)).toEqual([]);
  expect(costly(100, 320)).toMatchObject([{ check: 'memory' }]);
  expect(costly(300, 320)).toEqual([]);
  expect(judge({ descriptors: 81 }, 1)).toMatchObject([{ check: 'descriptors' }]);
});

const KIND: FaultKind = {
  room: 'connection',
  name: 'refused',
  unreachable: 'failing',
  strike: () => ({ hits: () => 1, end: async () => {} }),
};

test('a fault that is long enough must show in /readyz in time', () => {
  const bound = BOUNDS.unreadyMs.failing;
  const judge = (endedAt: number, unreadyAt: number | undefined) =>
    judgeReadiness({ kinds: [KIND] }, { struckAt: 0, endedAt, unreadyAt });
  expect(judge(bound, undefined)).toEqual([]);
  expect(judge(bound + 5_000, bound - 1)).toEqual([]);
  expect(judge(bound + 5_000, bound + 1)).toMatchObject([{ check: 'readyz' }]);
  expect(judge(bound + 5_000, undefined)).toMatchObject([{ check: 'readyz' }]);
});

test('percentiles are values that were measured', () => {
  expect(percentiles(every(1, 101).slice(1))).toEqual({ p50: 50, p90: 90, p99: 99, max: 100 });
  expect(percentiles([7])).toEqual({ p50: 7, p90: 7, p99: 7, max: 7 });
});

test('a fault that hit nothing does not count, and its kind is reported the second time', () => {
  const report = new RecoveryReport(1);
  const fault = { number: 1, kinds: [KIND], seconds: 1, seed: 1 };
  report.add(0, { fault, hits: 0, rightAgainMs: 5, problems: [] });
  expect(report.summary).toMatchObject({ faults: 0, harmless: 1, neverHit: [] });
  report.add(0, { fault, hits: 0, rightAgainMs: 5, problems: [] });
  expect(report.summary).toMatchObject({ harmless: 2, neverHit: ['connection: refused'] });
  report.add(0, { fault, hits: 2, rightAgainMs: 700, problems: [] });
  expect(report.summary).toMatchObject({ faults: 1, neverHit: [], rightAgainMs: { max: 700 } });
});

test('a fault that cannot be injected is reported, and the others count', () => {
  const report = new RecoveryReport(1);
  const fault = { number: 1, kinds: [KIND], seconds: 1, seed: 1 };
  report.add(0, { fault, hits: 1, rightAgainMs: 5, problems: [] });
  report.breakOff(1, 'connection: refused', new Error('no port is free'));
  expect(report.summary).toMatchObject({
    faults: 1,
    brokenOff: [expect.stringMatching(/^history 1, connection: refused: .*no port is free/)],
  });
});

test('a view that never becomes right counts with the longest time', () => {
  const report = new RecoveryReport(1);
  const fault = { number: 1, kinds: [KIND], seconds: 1, seed: 1 };
  report.add(0, { fault, hits: 1, rightAgainMs: undefined, problems: [] });
  expect(report.summary.rightAgainMs.p50).toBeGreaterThan(BOUNDS.rightAgainHardMs);
});

test('a seed gives the same plan each time, and another seed another one', () => {
  const kinds = ['a', 'b', 'c', 'd'].map((name): FaultKind => ({ ...KIND, name }));
  const plan = (seed: number) =>
    planHistories({
      random: createRandom(seed),
      kinds,
      faults: 40,
      memoryHistories: 3,
      hasReal: true,
    });
  expect(plan(5)).toEqual(plan(5));
  expect(plan(5)).not.toEqual(plan(6));
  const planned = plan(5).flatMap(({ faults }) => faults);
  expect(planned).toHaveLength(40);
  for (const kind of kinds) {
    expect(planned.filter((fault) => fault.kinds[0] === kind)).toHaveLength(10);
  }
});
