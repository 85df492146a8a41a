import { PROGRAM } from '../../../../harness/node/program.ts';
import { BOUNDS, type Check, type Problem, REQUEST_WINDOW_MS } from '../bounds.ts';
import type { FaultKind, HistoryTarget } from '../fault-kind.ts';
import type { SeenRequest } from '../seen-request.ts';
import type { Usage } from '../wrapper-under-test.ts';

export interface JudgedFault {
  readonly fault: { readonly kinds: readonly Pick<FaultKind, 'memoryMB'>[] };
  /** Of performance.now(), as all times here. */
  readonly struckAt: number;
  /** What the wrapper had used before it. */
  readonly before: Usage;
}

/** Requests, connections, log lines, CPU, memory and descriptors of one fault and its recovery. */
export function judgeTraffic(
  stage: Pick<HistoryTarget, 'front' | 'wrapper' | 'relays'>,
  judged: JudgedFault,
): Problem[] {
  const { front, wrapper, relays } = stage;
  const { fault, struckAt, before } = judged;
  const now = performance.now();
  const starts = wrapper.runs.filter(({ startedAt }) => startedAt >= struckAt);
  const seconds = (now - struckAt) / 1000;
  const isRecent = (at: number) => at >= struckAt;
  const relayStarts = relays.flatMap((relay) => relay.starts.filter(isRecent)).length;
  const recent = front.requests.filter(({ at }) => isRecent(at));
  return [
    ...judgeRequests(recent),
    ...judgeLists(recent, starts.length + relayStarts),
    ...judgeConnections(front.connections.filter(isRecent), {
      // Each relay has connections of its own.
      starts: starts.length + relays.length + relayStarts,
      protocol: front.protocol,
    }),
    ...judgeUsage({
      before,
      after: wrapper.usage(),
      seconds,
      starts: starts.length,
      kinds: fault.kinds,
    }).map((problem) => {
      if (problem.check !== 'log') return problem;
      return { ...problem, what: `${problem.what}: ${wrapper.messagesSince(before.logLines)}` };
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
  readonly kinds: readonly Pick<FaultKind, 'memoryMB'>[];
}): Problem[] {
  const { before, after, seconds, starts, kinds } = used;
  const { constant, share, perProcess } = BOUNDS.cpuSeconds;
  const lines =
    BOUNDS.logLinesPerMinute * (Math.max(1, seconds / 60) + kinds.length - 1) +
    BOUNDS.logLinesPerProcess * starts;
  const cpu = constant + share * seconds + perProcess * starts;
  const costMB = kinds.reduce((sum, { memoryMB = 0 }) => sum + memoryMB, 0);
  // Memory that a fault was allowed to take is not given back to the system.
  const memory = Math.max(
    BOUNDS.residentMB[isBundle() ? 'bundle' : 'sources'] + costMB,
    before.peakMB * 1.1,
  );
  return [
    ...atMost('log', 'log lines', after.logLines - before.logLines, lines),
    ...atMost('cpu', 'CPU seconds', after.cpuSeconds - before.cpuSeconds, cpu),
    // A peak is reported once, where it was reached.
    ...(after.peakMB > before.peakMB ? atMost('memory', 'resident MB', after.peakMB, memory) : []),
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

/** Of timers, and of a busy machine, on which a request is seen late. What lists too often exceeds it soon. */
const TOLERANCE_MS = 1_000;

/** @param starts processes that were started */
export function judgeLists(requests: readonly SeenRequest[], starts: number): Problem[] {
  const lists = requests.filter(
    ({ verb, status, isHtml, isDamaged }) =>
      verb === 'list' && status === 200 && isHtml !== true && isDamaged !== true,
  );
  return [...byQuery(lists)].flatMap(([query, list]) => {
    const times = list.map(({ at }) => at);
    for (const [first, from] of times.entries()) {
      for (const [index, to] of times.slice(first).entries()) {
        const periods = Math.floor((to - from + TOLERANCE_MS) / BOUNDS.listPeriodMs);
        const allowed = BOUNDS.lists * (1 + starts) + periods;
        if (index + 1 > allowed) {
          const what = `lists of ${query}: ${index + 1} in ${Math.round(to - from)} ms, allowed ${allowed}`;
          return [{ check: 'lists', what }];
        }
      }
    }
    return [];
  });
}

export function judgeConnections(
  times: readonly number[],
  { starts, protocol }: { readonly starts: number; readonly protocol: 'h2' | 'http/1.1' },
): Problem[] {
  const most = mostInWindow(times, REQUEST_WINDOW_MS);
  const perSecond = BOUNDS.connectionsPerSecond[protocol];
  const allowed = ((1 + starts) * perSecond * REQUEST_WINDOW_MS) / 1000;
  return atMost('connections', `new connections in ${REQUEST_WINDOW_MS} ms`, most, allowed);
}

/** The traffic of each client apart. */
function byQuery(requests: readonly SeenRequest[]): Map<string, SeenRequest[]> {
  const all = new Map<string, SeenRequest[]>();
  for (const request of requests) {
    if (request.collection === '') continue;
    const key = `${request.client} ${request.query}`.trim();
    const list = all.get(key) ?? [];
    all.set(key, list);
    list.push(request);
  }
  return all;
}
