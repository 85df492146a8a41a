import { PROGRAM } from '../../support/program.ts';
import { BOUNDS, type Check, type Problem, REQUEST_WINDOW_MS } from './bounds.ts';
import type { PlannedFault } from './fault-plan.ts';
import type { HistoryScene } from './history-scene.ts';
import type { SeenRequest } from './seen-request.ts';
import type { Usage } from './wrapper-under-test.ts';

export interface JudgedFault {
  readonly fault: PlannedFault;
  /** Of performance.now(), as all times here. */
  readonly struckAt: number;
  readonly endedAt: number;
  /** What the wrapper had used before it. */
  readonly before: Usage;
}

/** Requests, connections, log lines, CPU, memory and descriptors of one fault and its recovery. */
export function judgeTraffic(scene: HistoryScene, judged: JudgedFault): Problem[] {
  const { front, wrapper } = scene;
  const { fault, struckAt, endedAt, before } = judged;
  const now = performance.now();
  const starts = wrapper.starts.filter((at) => at >= struckAt);
  const seconds = (now - struckAt) / 1000;
  const isRecent = (at: number) => at >= struckAt;
  return [
    ...judgeRequests(front.requests.filter(({ at }) => isRecent(at))),
    ...judgeLists(
      front.requests.filter(({ at }) => isRecent(at)),
      [struckAt, endedAt, ...starts],
    ),
    ...judgeConnections(front.connections.filter(isRecent), starts.length),
    ...judgeUsage({
      ...{ before, after: wrapper.usage(), seconds, starts: starts.length },
      kinds: fault.kinds.length,
    }),
  ];
}

/** What a fault and its recovery have cost. */
export function judgeUsage(used: {
  readonly before: Usage;
  readonly after: Usage;
  readonly seconds: number;
  /** Processes that were started. */
  readonly starts: number;
  /** Kinds of fault at the same time. */
  readonly kinds: number;
}): Problem[] {
  const { before, after, seconds, starts, kinds } = used;
  const { constant, share, perProcess } = BOUNDS.cpuSeconds;
  const lines =
    BOUNDS.logLinesPerMinute * (Math.max(1, seconds / 60) + kinds - 1) +
    BOUNDS.logLinesPerProcess * starts;
  const cpu = constant + share * seconds + perProcess * starts;
  const memory = BOUNDS.residentMB[isBundle() ? 'bundle' : 'sources'];
  return [
    ...atMost('log', 'log lines', after.logLines - before.logLines, lines),
    ...atMost('cpu', 'CPU seconds', after.cpuSeconds - before.cpuSeconds, cpu),
    ...atMost('memory', 'resident MB', after.peakMB, memory),
    ...atMost('descriptors', 'open descriptors', after.descriptors, BOUNDS.descriptors),
  ];
}

function isBundle(): boolean {
  return PROGRAM.endsWith('.js');
}

function atMost(check: Check, what: string, value: number, bound: number): Problem[] {
  if (value <= bound) return [];
  return [{ check, what: `${what}: ${round(value)}, allowed ${round(bound)}` }];
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** The most in any window, of times in order. */
export function mostInWindow(times: readonly number[], windowMs: number): number {
  let most = 0;
  let first = 0;
  for (const [index, at] of times.entries()) {
    while (at - (times[first] ?? at) > windowMs) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}

export function judgeRequests(requests: readonly SeenRequest[]): Problem[] {
  const allowed = (BOUNDS.requestsPerSecond * REQUEST_WINDOW_MS) / 1000;
  return [...byQuery(requests)].flatMap(([query, list]) =>
    atMost(
      'requests',
      `requests in ${REQUEST_WINDOW_MS} ms of ${query}`,
      mostInWindow(
        list.map(({ at }) => at),
        REQUEST_WINDOW_MS,
      ),
      allowed,
    ),
  );
}

/** @param grants when a query may list once more, apart from the steady rate */
export function judgeLists(requests: readonly SeenRequest[], grants: readonly number[]): Problem[] {
  return [...byQuery(requests.filter(({ verb }) => verb === 'list'))].flatMap(([query, list]) => {
    const times = list.map(({ at }) => at);
    for (const [first, from] of times.entries()) {
      for (let last = first; last < times.length; last++) {
        const to = times[last] ?? from;
        // A list may be sent a moment before the harness knows what it is for.
        const granted = grants.filter((at) => at <= to + 100 && at >= from - BOUNDS.listPeriodMs);
        const allowed = 1 + granted.length + Math.floor((to - from) / BOUNDS.listPeriodMs);
        const count = last - first + 1;
        if (count > allowed) {
          const ms = Math.round(to - from);
          const what = `lists of ${query}: ${count} in ${ms} ms, allowed ${allowed}`;
          return [{ check: 'lists', what }];
        }
      }
    }
    return [];
  });
}

export function judgeConnections(times: readonly number[], starts: number): Problem[] {
  const most = mostInWindow(times, REQUEST_WINDOW_MS);
  const allowed = ((1 + starts) * BOUNDS.connectionsPerSecond * REQUEST_WINDOW_MS) / 1000;
  return atMost('connections', `new connections in ${REQUEST_WINDOW_MS} ms`, most, allowed);
}

function byQuery(requests: readonly SeenRequest[]): Map<string, SeenRequest[]> {
  const all = new Map<string, SeenRequest[]>();
  for (const request of requests) {
    if (request.collection === '') continue;
    const list = all.get(request.query) ?? [];
    all.set(request.query, list);
    list.push(request);
  }
  return all;
}
