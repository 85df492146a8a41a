import type { NodeNetns } from '../network/node-netns.ts';
import { poll } from '../poll.ts';
import { readLines } from '../process/managed-process.ts';

/** A program that prints what it has of EndpointSlices: a line of JSON after each event. */
export interface SliceClient {
  /** Waits until it has just these addresses, by the name of the slice. */
  sees(slices: Readonly<Record<string, readonly string[]>>): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the command inside the namespace. */
export function startSliceClient(
  netns: NodeNetns,
  name: string,
  [command = '', ...args]: readonly string[],
): SliceClient {
  const logFile = `${netns.folder}/${name}.log`;
  const managed = netns.spawn({ name, command, args, logFile, piped: true });
  let last: unknown;
  readLines(managed, (line) => {
    last = JSON.parse(line);
  });
  return {
    sees: async (slices) => {
      const wanted = JSON.stringify(sorted(slices));
      const accept = (value: unknown) => JSON.stringify(sorted(value)) === wanted;
      const options = { what: `${name}: ${wanted}`, timeoutMs: 20_000 };
      await poll(() => last, accept, options).catch((error: Error) => {
        throw new Error(`${error.message}; its log ends:\n${managed.log().slice(-1000)}`);
      });
    },
    stop: async () => await managed.stop('SIGKILL'),
  };
}

function sorted(slices: unknown): unknown {
  if (typeof slices !== 'object' || slices === null) return slices;
  return Object.fromEntries(Object.entries(slices).sort());
}
