import type { Timeline } from '../../../../harness/history/timeline.ts';
import { type FollowOptions, follow } from '../../../support/recorder/follow.ts';
import type { Problem } from '../bounds.ts';
import { KeptClient } from './kept-client.ts';
import { shownView, wantedView } from './shown-view.ts';
import { ViewJudge } from './view-judge.ts';

/** Values of each input that a process may find on its disk. */
const KEPT_VALUES = 12;
const WATCHING = { watchSeconds: 300, pauseMs: 100 };
const SLICES =
  '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=!service.kubernetes.io/headless';
const SERVICES =
  '/api/v1/services?fieldSelector=spec.clusterIP!%3DNone&labelSelector=!service.kubernetes.io/service-proxy-name';

/** Two clients of a wrapper that are never restarted, and what judges each state that they have. */
export function startKeptClients(url: string, timeline: Timeline) {
  let report: (problem: Problem) => void = () => {};
  const judge = new ViewJudge(timeline, (what) => report({ check: 'view', what }));
  const broken = (what: string) => report({ check: 'watch', what });
  const slices: KeptClient = new KeptClient({
    broken,
    changed: (name, object) => judge.slice(name, object),
    applied: () => judge.judge(slices.objects),
  });
  const services = new KeptClient({
    broken,
    changed: (name, object) => judge.service(name, object),
    applied: () => {},
  });
  const stopped = new AbortController();
  const queries: readonly [FollowOptions, KeptClient][] = [
    [{ ...WATCHING, url: url + SLICES, mode: 'stream' }, slices],
    [{ ...WATCHING, url: url + SERVICES, mode: 'list' }, services],
  ];
  for (const [query, client] of queries) void follow(query, client, stopped.signal);
  return {
    judge,
    /** From now on, what is found is added here. */
    reportTo: (problems: Problem[]) => {
      report = (problem) => problems.push(problem);
    },
    /** The clients are right: only what comes from now on is allowed. */
    settle: () => judge.restart(slices.objects, KEPT_VALUES),
    /** How they differ from what they must have; empty: not at all. */
    differences: () => {
      const wanted = [...timeline.services.present].map(
        ([name, { version }]) => [name, `${version} `] as const,
      );
      return [
        ...compare('slice', wantedView(timeline), shownView(slices.objects)),
        ...compare('Service', new Map(wanted), shownView(services.objects)),
      ].join('; ');
    },
    stop: () => stopped.abort(),
  };
}

function compare(
  what: string,
  wanted: ReadonlyMap<string, string>,
  shown: ReadonlyMap<string, string>,
): string[] {
  return [...new Set([...wanted.keys(), ...shown.keys()])]
    .filter((name) => wanted.get(name) !== shown.get(name))
    .map((name) => {
      const [is, must] = [shown.get(name) ?? 'absent', wanted.get(name) ?? 'absent'];
      return `${what} ${name} is ${is}, must be ${must}`;
    });
}
