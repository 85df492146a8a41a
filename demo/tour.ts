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
  [
    'annotate web topologyKeys=["kubernetes.io/hostname","site","*"]',
    'else those of its site, else any',
  ],
  ['label edge-1 site=a', 'this node returns to site a'],
  ['node cloud-1', 'the same cluster, seen from a zone of the cloud'],
  ['notready 10.244.101.53', 'its resolver fails: dns is answered anywhere'],
  [
    'label cloud-2 topology.kubernetes.io/zone=eu-central-1a',
    'the other zone gets the name of this one, which slices do not say: its resolver is near',
  ],
  ['label cloud-2 topology.kubernetes.io/zone=eu-central-1b', 'it has its own name again'],
  ['ready 10.244.101.53', 'and this node its resolver'],
  ['node edge-1', 'back to the site'],
  ['outage', 'the link to the cloud fails'],
  ['reboot', 'and then the power: all nodes start from their snapshots'],
  ['notready 10.244.2.20', 'db of the site fails, and nobody here can hear of it'],
  ['recover', 'the link is back: db is answered elsewhere'],
  ['ready 10.244.2.20', 'and here again'],
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
