import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientStage, startClientStage } from './client-stage.ts';
import { CLIENTS, type ClientLibrary, ensureClient, type Moment } from './clients.ts';
import { type WatchedClient, watchClient } from './watched-client.ts';

/** A client over one of the listeners, and how soon it had the change after each moment. */
export interface MeasuredClient {
  readonly client: ClientLibrary;
  readonly listener: 'http' | 'https';
  /** Milliseconds; absent: it did not have it within {@link LATE_MS}. */
  readonly ms: Readonly<Partial<Record<Moment, number>>>;
  /** How it ended by itself; undefined: it did not. */
  readonly ended: string | undefined;
}

/** A change that comes later than this counts as missed, in milliseconds. */
export const LATE_MS = 60_000;
/** On a busy machine the first change may come this late: all programs start together. */
const START_MS = 150_000;
/** How long nothing changes before the last change, in milliseconds. */
const SILENCE_MS = 60_000;

/** Runs clients beside each other against one wrapper. Takes five minutes. */
export async function measureClients(
  report: (line: string) => void,
  clients: readonly ClientLibrary[] = CLIENTS,
): Promise<MeasuredClient[]> {
  const commands = [];
  for (const client of clients) {
    report(`installing ${client.name} ${client.version}`);
    commands.push({ client, command: await ensureClient(client) });
  }
  const stage = await startClientStage();
  const running = commands.flatMap(({ client, command }) =>
    (['http', 'https'] as const).map((listener) => {
      const name = `${client.argument}-${client.version}-${listener}`;
      const args = [...command, stage.kubeconfigs[listener]];
      return {
        client,
        listener,
        since: performance.now(),
        process: watchClient(name, args, join(stage.folder, `${name}.log`)),
      };
    }),
  );
  try {
    const times = await passMoments(stage, running, report);
    return running.map(({ client, listener, process }, index) => {
      return { client, listener, ms: times[index] ?? {}, ended: process.ending() };
    });
  } finally {
    await Promise.all(running.map(({ process }) => process.stop()));
    await stage.stop();
  }
}

interface Running {
  readonly since: number;
  readonly process: WatchedClient;
}

async function passMoments(
  stage: ClientStage,
  running: readonly Running[],
  report: (line: string) => void,
): Promise<Partial<Record<Moment, number>>[]> {
  const times = running.map((): Partial<Record<Moment, number>> => ({}));
  let site: 'a' | 'b' = 'a';
  let count = 0;
  /** Makes the change, and notes when each client has it. */
  const change = async (moment: Moment, how: () => string): Promise<void> => {
    const since = performance.now();
    const wanted = [how()];
    const each = running.map(async (client, index) => {
      const isStart = moment === 'start';
      // A client that cannot start is not waited for again.
      if (!isStart && times[index]?.start === undefined) return;
      const from = isStart ? client.since : since;
      const ms = await client.process.msUntil(wanted, from, isStart ? START_MS : LATE_MS);
      if (ms !== undefined) times[index] = { ...times[index], [moment]: ms };
    });
    await Promise.all(each);
    report(`${moment}: ${times.map((all) => Math.round(all[moment] ?? -1)).join(' ')}`);
  };
  const place = (): string => {
    count += 1;
    const [near, far] = site === 'a' ? [count, 200] : [200, count];
    stage.place({ [`10.0.0.${near}`]: 'node-a', [`10.0.0.${far}`]: 'node-b' });
    return `10.0.0.${count}`;
  };
  const relabel = (): string => {
    site = site === 'a' ? 'b' : 'a';
    stage.moveTo(site);
    return '10.0.0.200';
  };
  await change('start', place);
  await change('change', place);
  await change('relabel', relabel);
  await stage.wrapper.replace();
  await change('planned', place);
  await sleep(5_000);
  await stage.wrapper.restart();
  await change('killed', place);
  await sleep(SILENCE_MS);
  await change('silence', place);
  return times;
}
