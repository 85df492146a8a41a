import { setTimeout as delay } from 'node:timers/promises';
import type { DemoSession } from './session.ts';
import type { Terminal } from './terminal.ts';

/** Commands that the demo runs by itself, with a note for the user. */
const TOUR: readonly (readonly [command: string, note: string])[] = [
  ['label edge-1 site=b', 'this node moves to site b and gets other neighbours'],
  [
    'annotate web topologyKeys=["kubernetes.io/hostname"]',
    'only endpoints on this node may answer web',
  ],
  ['annotate web topologyKeys-', 'web has no policy: all endpoints are shown'],
  ['annotate web topologyKeys=["kubernetes.io/hostname","site","*"]', 'web has a policy again'],
  ['label edge-1 site=a', 'this node returns to site a'],
];

/**
 * Runs some commands on the example, so that a newcomer sees what they do.
 *
 * @param pauseMs time to read before each command, in milliseconds
 */
export async function takeTour(
  session: DemoSession,
  terminal: Terminal,
  pauseMs: number,
): Promise<void> {
  terminal.print('', `A tour of ${TOUR.length} commands first. Only what changes is printed.`);
  for (const [command, note] of TOUR) {
    await delay(pauseMs);
    terminal.print('', `> ${command}    # ${note}`);
    await session.run(command);
  }
  await delay(pauseMs);
}
