import { poll } from '../poll.ts';
import { readLines, startProcess } from '../process/managed-process.ts';

/** A running program of a client, and when it had what. */
export interface WatchedClient {
  /** Milliseconds from `since` (of performance.now()) until it had just these addresses; undefined: not in time. */
  msUntil(
    addresses: readonly string[],
    since: number,
    timeoutMs: number,
  ): Promise<number | undefined>;
  /** How it ended, such as `code 1`; undefined while it runs. */
  ending(): string | undefined;
  stop(): Promise<void>;
}

/** Starts the program of a client. */
export function watchClient(
  name: string,
  [command = '', ...args]: readonly string[],
  logFile: string,
): WatchedClient {
  const managed = startProcess({ name, command, args, logFile, piped: true });
  const seen: { readonly at: number; readonly line: string }[] = [];
  readLines(managed, (line) => {
    // Some libraries print lines of their own.
    if (line.startsWith('[')) seen.push({ at: performance.now(), line: compact(line) });
  });
  return {
    msUntil: async (addresses, since, timeoutMs) => {
      const wanted = JSON.stringify(addresses);
      const find = () => seen.find(({ at, line }) => at >= since && line === wanted);
      const has = () => find() !== undefined || managed.ending() !== undefined;
      const timeout = { timeoutMs, what: `${name}: ${wanted}` };
      await poll(has, (done) => done, timeout).catch(() => undefined);
      const found = find();
      return found && found.at - since;
    },
    ending: managed.ending,
    stop: async () => await managed.stop('SIGKILL'),
  };
}

function compact(line: string): string {
  try {
    return JSON.stringify(JSON.parse(line));
  } catch {
    // Not ours: a line of the library that begins with a bracket.
    return line;
  }
}
