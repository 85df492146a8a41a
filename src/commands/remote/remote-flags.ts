import { type Flags, numberFlag, textFlag, UsageError } from '../command-line/flags.ts';

const PARALLEL = 10;

/** How many nodes are read at the same time. Throws UsageError. */
export function parallel(flags: Flags): number {
  const number = numberFlag(flags, 'parallel', ' of nodes', PARALLEL);
  if (Number.isInteger(number) && number > 0) return number;
  throw new UsageError(`--parallel must be a number of nodes, not ${number}`);
}

/** The node of --node; undefined: all. Throws UsageError. */
export function targetNode(flags: Flags): string | undefined {
  const node = textFlag(flags, 'node');
  if (node !== undefined && flags['all-nodes'] === true) {
    throw new UsageError('use --node or --all-nodes, not both');
  }
  return node;
}
