import type { Random } from '../support/random.ts';
import type { FaultScene } from './fault-scene.ts';

/** A way in which something fails. */
export interface FaultKind {
  readonly name: string;
  /** How often it is chosen, beside the others: fast ones more often. */
  readonly weight: number;
  /** Makes it happen. Resolves with what undoes it, or ends it. */
  strike(scene: FaultScene, random: Random): Promise<Heal>;
}

/** Resolves with how many connections or processes were harmed; 0: the fault hit nothing, and does not count. */
export type Heal = () => Promise<number>;
