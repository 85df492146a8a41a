import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../../../e2e/support/control-plane.ts';
import { send } from './http.ts';

/** Events that the API server has stored. */
export interface StoredEvents {
  readonly count: number;
  /** Their size as JSON, which is more than etcd needs for them. */
  readonly bytes: number;
  readonly names: ReadonlySet<string>;
}

/** Reads all Events, a page at a time. */
export async function storedEvents({ admin }: ControlPlane): Promise<StoredEvents> {
  const names = new Set<string>();
  let bytes = 0;
  let token = '';
  do {
    const page = await admin.get(`/api/v1/events?limit=50&continue=${encodeURIComponent(token)}`);
    for (const item of page.items) {
      names.add(item.metadata.name);
      bytes += Buffer.byteLength(JSON.stringify(item));
    }
    token = (page.metadata as { continue?: string }).continue ?? '';
  } while (token !== '');
  return { count: names.size, bytes, names };
}

/** Deletes all Events. */
export async function deleteEvents({ admin }: ControlPlane): Promise<void> {
  await admin.delete('/api/v1/namespaces/default/events');
}

/** Requests that the API server executes now: the larger of what its two ways of counting say. */
async function executing(plane: ControlPlane): Promise<number> {
  const { body } = await send(`${plane.server}/metrics`, {
    ca: readFileSync(plane.caFile),
    token: plane.tokens.admin,
  });
  const sum = (name: string): number =>
    [...body.matchAll(new RegExp(`^${name}{[^}]*} (\\S+)$`, 'gm'))]
      .map(([, value]) => Number(value))
      .reduce((total, value) => total + value, 0);
  return Math.max(
    sum('apiserver_current_inflight_requests'),
    sum('apiserver_flowcontrol_current_executing_seats'),
  );
}

/** The most requests that the API server executed at once while `during` ran, by a sample every 200 ms. */
export async function mostExecuting(
  plane: ControlPlane,
  during: () => Promise<void>,
): Promise<number> {
  let most = 0;
  let running = true;
  const sample = async (): Promise<void> => {
    while (running) {
      most = Math.max(most, await executing(plane));
      await sleep(200);
    }
  };
  const sampling = sample();
  await during().finally(() => {
    running = false;
  });
  await sampling;
  return most;
}
