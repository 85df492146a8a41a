import { expect, test } from '@jest/globals';
import type { ModelSlice } from '../../harness/history/expected-view.ts';
import { SEQ } from '../../harness/history/history-objects.ts';
import { historyService } from '../../harness/history/history-view.ts';
import { Timeline } from '../../harness/history/timeline.ts';
import { BOUNDS } from '../real/faults/bounds.ts';
import type { FaultKind } from '../real/faults/fault-kind.ts';
import { FaultReport } from '../real/faults/fault-report.ts';
import type { SeenObject } from '../real/faults/recovery/kept-client.ts';
import { judgeReadiness } from '../real/faults/recovery/readiness-watch.ts';
import {
  judgeConnections,
  judgeLists,
  judgeRequests,
  judgeUsage,
} from '../real/faults/recovery/traffic-judge.ts';
import { ViewJudge } from '../real/faults/recovery/view-judge.ts';
import { toSeenRequest } from '../real/faults/seen-request.ts';
import type { Usage } from '../real/faults/wrapper-under-test.ts';

// Each check of the recovery suite, with a right history that it accepts and a planted bug that it finds.

/** One Service of one slice with an endpoint on each of `here`, `n1` and `n2`; only `n1` shares the site of `here`. */
function smallHistory() {
  const timeline = new Timeline({ site: 'a' });
  timeline.setNode('n1', { site: 'a' });
  timeline.setNode('n2', { site: 'b' });
  timeline.services.of('s').push(historyService('["site"]', timeline.nextVersion()));
  const write = () => {
    timeline.slices.of('s-a').push(writtenSlice(timeline.nextVersion()));
    return timeline.slices.of('s-a').last?.version ?? 0;
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

function writtenSlice(version: number): ModelSlice {
  const endpoints = NODES.map((node) => ({
    node,
    zone: '',
    state: 'ready' as const,
    address: addressOf(node, version),
  }));
  return { version, service: 's', family: 'IPv4', ports: ['TCP/http'], endpoints };
}

function shownSlice(seq: number, nodes: readonly string[]): SeenObject {
  const annotations = { [SEQ]: String(seq) };
  return {
    metadata: { name: 's-a', namespace: '', resourceVersion: '1', annotations },
    endpoints: nodes.map((node) => ({ addresses: [addressOf(node, seq)] })),
  };
}

type SmallHistory = ReturnType<typeof smallHistory>;
const NEAR = ['here', 'n1'];

test.each<[rule: string, play: (history: SmallHistory) => void]>([
  [
    'a view that follows the writes one by one',
    ({ timeline, seq, write, show }) => {
      show(seq, NEAR);
      const next = write();
      show(next, NEAR);
      timeline.setNode('n2', { site: 'a' });
      show(next, NODES);
    },
  ],
  [
    'a query that falls behind on its own',
    ({ timeline, write, show }) => {
      timeline.setNode('n2', { site: 'a' });
      show(write(), NEAR);
    },
  ],
  [
    'an older state after a restore',
    ({ timeline, seq, write, show }) => {
      const { state } = timeline;
      show(write(), NEAR);
      timeline.restore(state);
      show(seq, NEAR);
    },
  ],
  [
    'an older state from the disk of a process that was killed',
    ({ judge, seq, write, show }) => {
      show(write(), NEAR);
      judge.mayGoBack = true;
      show(seq, NEAR);
    },
  ],
  [
    'an object that vanishes and was deleted',
    ({ timeline, judge }) => {
      timeline.services.of('s').push(undefined);
      timeline.slices.of('s-a').push(undefined);
      judge.slice('s-a', undefined);
      judge.service('s', undefined);
    },
  ],
])('%s is accepted', (_, play) => {
  const history = smallHistory();
  play(history);
  expect(history.found).toEqual([]);
});

test.each<[rule: string, finding: string, play: (history: SmallHistory) => void]>([
  [
    'an endpoint that the policy forbids',
    'no allowed combination',
    ({ seq, show }) => show(seq, NODES),
  ],
  [
    'a missing endpoint that the policy demands',
    'no allowed combination',
    ({ seq, show }) => show(seq, ['here']),
  ],
  [
    'a slice that goes back in time',
    'shows write 2; allowed',
    ({ seq, write, show }) => {
      show(write(), NEAR);
      show(seq, NEAR);
    },
  ],
  [
    'labels that go back in time',
    'no allowed combination',
    ({ timeline, seq, show }) => {
      timeline.setNode('n2', { site: 'a' });
      show(seq, NODES);
      show(seq, NEAR);
    },
  ],
  [
    'a state from before the clients were last right',
    'shows write 2; allowed',
    ({ seq, write, show, settle }) => {
      show(write(), NEAR);
      settle();
      show(seq, NEAR);
    },
  ],
  [
    'a lag that would have shown when the clients were right',
    'no allowed combination',
    ({ timeline, seq, show, settle }) => {
      show(seq, NEAR);
      timeline.setNode('n2', { site: 'a' });
      show(seq, NODES);
      settle();
      show(seq, NEAR);
    },
  ],
  ['a write that never was', 'shows write 99', ({ show }) => show(99, NEAR)],
  [
    'an endpoint of another write',
    'shows 10.9.9.9',
    ({ judge, seq }) => {
      judge.slice('s-a', { ...shownSlice(seq, []), endpoints: [{ addresses: ['10.9.9.9'] }] });
    },
  ],
  [
    'a slice that vanishes and was never deleted',
    'slice s-a vanished',
    ({ judge }) => judge.slice('s-a', undefined),
  ],
  [
    'a Service that vanishes and was never deleted',
    'Service s vanished',
    ({ judge }) => judge.service('s', undefined),
  ],
])('%s is found', (_, finding, play) => {
  const history = smallHistory();
  play(history);
  expect(history.found).toEqual([expect.stringContaining(finding)]);
});

test.each([12, 3])(
  'a query whose lag did not show when the clients were right may show it later, of %i values',
  (keep) => {
    const { timeline, found, seq, show, settle } = smallHistory();
    show(seq, NEAR);
    const service = timeline.services.of('s');
    service.push(undefined);
    service.push(historyService('["site"]', timeline.nextVersion()));
    settle(keep);
    // The wrapper's own watch of Services is late: deleted, then created again.
    show(seq, NODES);
    show(seq, NEAR);
    expect(found).toEqual([]);
    // It has caught up.
    settle(keep);
    show(seq, NODES);
    expect(found).toEqual([expect.stringContaining('no allowed combination')]);
  },
);

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

const UNUSED = { cpuSeconds: 0, peakMB: 0, descriptors: 0, logLines: 0 };

test.each<[used: Partial<Usage>, found: string[], seconds: number, beforeMB: number, cost: number]>(
  [
    [{ logLines: 10, cpuSeconds: 1.7, peakMB: 100, descriptors: 80 }, [], 1, 0, 0],
    [{ logLines: 11 }, ['log'], 1, 0, 0],
    [{ logLines: 20 }, [], 120, 0, 0],
    [{ logLines: 21 }, ['log'], 120, 0, 0],
    [{ cpuSeconds: 5 }, ['cpu'], 10, 0, 0],
    [{ descriptors: 81 }, ['descriptors'], 1, 0, 0],
    [{ peakMB: 300 }, ['memory'], 1, 0, 0],
    // Reported once, where it was reached.
    [{ peakMB: 300 }, [], 1, 300, 0],
    [{ peakMB: 300 }, [], 1, 100, 48],
    [{ peakMB: 320 }, ['memory'], 1, 100, 48],
    [{ peakMB: 320 }, [], 1, 300, 48],
  ],
)(
  '%j has the problems %j, within %i s, with %i MB before, in a fault that may cost %i MB',
  (used, found, seconds, beforeMB, memoryMB) => {
    const problems = judgeUsage({
      before: { ...UNUSED, peakMB: beforeMB },
      after: { ...UNUSED, ...used },
      seconds,
      starts: 0,
      kinds: [{ memoryMB }],
    });
    expect(problems.map(({ check }) => check)).toEqual(found);
  },
);

const KIND: FaultKind = {
  room: 'connection',
  name: 'refused',
  unreachable: 'failing',
  strike: () => ({ hits: () => 1, end: async () => {} }),
};

test('a fault that is long enough must show in /readyz in time', () => {
  const bound = BOUNDS.unreadyMs.failing.h2;
  const judge = (endedAt: number, unreadyAt: number | undefined) =>
    judgeReadiness({ kinds: [KIND] }, { struckAt: 0, endedAt, unreadyAt, protocol: 'h2' });
  expect(judge(bound, undefined)).toEqual([]);
  expect(judge(bound + 5_000, bound - 1)).toEqual([]);
  expect(judge(bound + 5_000, bound + 1)).toMatchObject([{ check: 'readyz' }]);
  expect(judge(bound + 5_000, undefined)).toMatchObject([{ check: 'readyz' }]);
});

const fault = { number: 1, kinds: [KIND], seconds: 1, seed: 1 };

test('a fault that hit nothing does not count, and its kind is reported the second time', () => {
  const report = new FaultReport(1);
  report.add(0, { fault, hits: 0, rightAgainMs: 5, problems: [] });
  expect(report.summary).toMatchObject({ faults: 0, harmless: 1, neverHit: [] });
  report.add(0, { fault, hits: 0, rightAgainMs: 5, problems: [] });
  expect(report.summary).toMatchObject({ harmless: 2, neverHit: ['connection: refused'] });
  report.add(0, { fault, hits: 2, rightAgainMs: 700, problems: [] });
  expect(report.summary).toMatchObject({ faults: 1, neverHit: [], rightAgainMs: { max: 700 } });
});

test('a fault that cannot be injected is reported, and the others count', () => {
  const report = new FaultReport(1);
  report.add(0, { fault, hits: 1, rightAgainMs: 5, problems: [] });
  report.breakOff(1, 'connection: refused', new Error('no port is free'));
  expect(report.summary).toMatchObject({
    faults: 1,
    brokenOff: [expect.stringMatching(/^history 1, connection: refused: .*no port is free/)],
  });
});

test('a view that never becomes right counts with the longest time', () => {
  const report = new FaultReport(1);
  report.add(0, { fault, hits: 1, rightAgainMs: undefined, problems: [] });
  expect(report.summary.rightAgainMs.p50).toBeGreaterThan(BOUNDS.rightAgainHardMs);
});
