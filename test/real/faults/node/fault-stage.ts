import type { ActiveFault } from '../active-fault.ts';
import type { NodeTarget } from '../fault-kind.ts';
import type { FaultStage } from '../fault-run.ts';
import type { NodeStage } from './node-stage.ts';

/** An informer that took longer than this, in milliseconds, backs off. */
const RENEW_AFTER_MS = 3_000;

/** The stage of a node for faults on all sides: its informers must be right after each. */
export function faultStageOf(stage: NodeStage): FaultStage<NodeTarget> {
  const { node, history, atom, informers, wrapper } = stage;
  let alone: ActiveFault | undefined;
  return {
    target: async (random) => {
      const [front, other] = await node.fronts();
      if (front === undefined) throw new Error('there is no front');
      // The other address of the API server answers, or not.
      alone = random.chance(0.5) ? await other?.beginTcp({ kind: 'refuse' }) : undefined;
      return { ...stage, front, random };
    },
    changeAll: async (random) => {
      await history.changeAll(random);
      if (random.chance(0.4)) await atom.flip();
    },
    differences: informers.differences,
    judge: () => ({
      struck: () => {},
      changed: async () => [],
      ended: async () => await alone?.end(),
      recovered: async (rightAgainMs) => {
        if (rightAgainMs === undefined) {
          const wrong = (await informers.differences()).slice(0, 3_000);
          const fresh = (await informers.readAnew().catch(String)).slice(0, 2_000);
          const now = `clients that start now get wrong: ${fresh}`;
          throw new Error(`${wrong}\n${now}\nthe wrapper's log ends: ${wrapper.log()}`);
        }
        if (rightAgainMs > RENEW_AFTER_MS) await informers.renew();
        return [];
      },
    }),
    stop: stage.stop,
  };
}
