import type { Session } from '../command-line/command.ts';
import { UsageError } from '../command-line/flags.ts';
import { REMOTE_COMMANDS } from '../definitions/remote.ts';
import { printReport } from '../output/print.ts';

/** The session of kubectl-kpw. Its commands reach wrappers by the node, so there is no admin port of its own. */
export const remoteSession: Session = {
  program: 'kubectl kpw',
  commands: REMOTE_COMMANDS,
  openAdmin: async () => {
    throw new UsageError('give --node NAME or --all-nodes');
  },
  print: printReport,
};
