import { join } from 'node:path';
import type { NodeNetns } from '../../../../harness/network/node-netns.ts';
import { poll } from '../../../../harness/poll.ts';
import type { ManagedProcess } from '../../../../harness/process/managed-process.ts';
import { type Atom, checkGuarantees } from '../../../support/guarantees/watch-guarantees.ts';
import type { RecorderConfig } from '../../../support/recorder/main.ts';
import { readRecords, stateAfter, toClientRecord } from '../../../support/recorder/read-records.ts';
import { type RecordedObject, toWritten } from '../../../support/recorder/written-object.ts';

/** What is asked, and as what clients; those with `near` reach the wrapper without the relay. */
const QUERIES = {
  slices: {
    path: '/apis/discovery.k8s.io/v1/endpointslices',
    clients: {
      near: { mode: 'list' },
      list: { mode: 'list' },
      stream: { mode: 'stream' },
      lists: { mode: 'lists', pauseMs: 300 },
      swing: { mode: 'swing', watchSeconds: 2 },
      slow: { mode: 'stream', slowMs: 700 },
    },
  },
  'slices as kube-proxy': {
    path: '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=!service.kubernetes.io/headless',
    clients: {
      near: { mode: 'stream' },
      list: { mode: 'list' },
      slow: { mode: 'list', slowMs: 400 },
    },
  },
  endpoints: {
    path: '/api/v1/endpoints',
    clients: { near: { mode: 'list' }, stream: { mode: 'stream' }, lists: { mode: 'lists' } },
  },
} as const;

/** Clients that write all that they receive. */
export function startRecorders(
  netns: NodeNetns,
  urls: { readonly near: string; readonly relayed: string },
) {
  const queries = Object.entries(QUERIES).map(([query, { path, clients }]) => ({
    query,
    url: urls.near + path,
    clients: Object.entries<Omit<RecorderConfig, 'url' | 'file'>>(clients).map(([name, how]) => ({
      ...how,
      name: `${query}: ${name}`,
      url: (name === 'near' ? urls.near : urls.relayed) + path,
      file: join(netns.folder, `recorder-${query}-${name}.jsonl`.replaceAll(' ', '-')),
    })),
  }));
  const process = spawnRecorders(
    netns,
    queries.flatMap(({ clients }) => clients),
  );
  return {
    /** Waits until each holds what the wrapper lists now. */
    settle: async (timeoutMs: number) => {
      for (const { url, clients } of queries) await settle(netns, url, clients, timeoutMs);
    },
    /** Checks all that was received for the six guarantees. */
    check: (atom: Atom) => {
      const counts: Record<string, number> = {};
      const violations = queries.flatMap(({ query, clients }) => {
        const records = clients.map(({ name, file }) => [name, readRecords(file)] as const);
        for (const [, list] of records) {
          for (const { kind } of list) counts[kind] = (counts[kind] ?? 0) + 1;
        }
        const read = records.map(([name, list]) => [name, list.map(toClientRecord)] as const);
        const atoms = query === 'endpoints' ? [] : [atom];
        return checkGuarantees(new Map(read), atoms);
      });
      return { violations, counts };
    },
    stop: async () => await process.stop('SIGKILL'),
  };
}

function spawnRecorders(netns: NodeNetns, configs: readonly RecorderConfig[]): ManagedProcess {
  const program = join(import.meta.dirname, '../../../support/recorder/main.ts');
  return netns.spawn({
    name: 'recorders',
    command: process.execPath,
    args: [program, JSON.stringify(configs)],
    logFile: join(netns.folder, 'recorders.log'),
  });
}

async function settle(
  netns: NodeNetns,
  url: string,
  clients: readonly { readonly name: string; readonly file: string }[],
  timeoutMs: number,
): Promise<void> {
  const behind = async () => {
    const answer = await netns.httpGet(url);
    const { items } = JSON.parse(answer?.body ?? '') as { items: RecordedObject[] };
    const now = textOf(items.map(toWritten).map(({ key, digest }) => [key, digest]));
    return clients.filter(({ file }) => textOf([...stateAfter(readRecords(file))]) !== now);
  };
  const what = 'each recording client holds what is listed';
  await poll(behind, (list) => list.length === 0, { timeoutMs, intervalMs: 500, what });
}

function textOf(state: readonly (readonly [string, string])[]): string {
  return state
    .map((entry) => entry.join(' '))
    .sort()
    .join('\n');
}
