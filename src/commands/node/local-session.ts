import type { Session } from '../command-line/command.ts';
import { type Flags, textFlag, UsageError } from '../command-line/flags.ts';
import { COMMANDS } from '../definitions/all.ts';

/** Default address of the admin port. */
const DEFAULT_ADMIN = '127.0.0.1:10361';

/** The session of kube-proxy-wrapper: it reaches the wrapper on this node. */
export const localSession: Session = {
  program: 'kube-proxy-wrapper',
  commands: COMMANDS,
  openAdmin: async (flags) => {
    const { createAdminClient } = await import('../client/admin-client.ts');
    return createAdminClient(adminUrl(flags));
  },
  print: async (report, flags) => (await import('../output/print.ts')).printReport(report, flags),
};

/** URL of the admin port, from `--admin IP:PORT`. */
function adminUrl(flags: Flags): string {
  const address = textFlag(flags, 'admin') ?? DEFAULT_ADMIN;
  if (!/^[^\s/]+:[0-9]{1,5}$/.test(address)) {
    throw new UsageError(
      `--admin must be IP:PORT, e.g. ${DEFAULT_ADMIN}, not ${JSON.stringify(address)}`,
    );
  }
  return `http://${address}`;
}
