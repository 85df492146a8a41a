import { poll } from '../poll.ts';
import type { Cluster } from './cluster.ts';

/** Looks at a node from the node itself, which needs none of its Pods and no API server. */
export function createNodeProbe(cluster: Cluster, name: string) {
  const node = cluster.node(name);
  /** The nodes that answer 16 connections to a URL, each once; failures in brackets. */
  const dial = async (url: string): Promise<string[]> => {
    const said = await node.exec(cluster.binaries.podProgram, ['dial', url, '16']);
    const answers = Object.keys(JSON.parse(said) as Record<string, number>);
    return [...new Set(answers.map((answer) => answer.split('/')[0] ?? ''))].sort();
  };
  return {
    dial,
    /** Waits until these nodes answer at a URL, each of them and no other. */
    reaches: async (url: string, nodes: readonly string[]) =>
      void (await poll(
        async () => await dial(url),
        (found) => found.join() === nodes.join(),
        { timeoutMs: 180_000, intervalMs: 200, what: `${nodes.join()} answers on ${name}` },
      )),
    /** Waits until containers of these names run, and no others. */
    runs: async (names: readonly string[]) =>
      void (await poll(
        async () => (await node.containers()).map((container) => container.name).sort(),
        (found) => found.join() === names.join(),
        { timeoutMs: 180_000, intervalMs: 200, what: `${names.join()} run on ${name}` },
      )),
  };
}
