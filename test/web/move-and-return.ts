import { poll } from '../../harness/poll.ts';
import type { Scene } from './scene.ts';

/** Moves edge-1 to site b and back, so that there are decisions to list. */
export async function moveAndReturn({ server, url }: Scene): Promise<void> {
  const count = async (): Promise<number> =>
    ((await (await fetch(`${url}/decisions`)).json()) as { count: number }).count;
  for (const site of ['b', 'a']) {
    const before = await count();
    server.label('edge-1', 'site', site);
    await poll(count, (now) => now > before);
  }
}
