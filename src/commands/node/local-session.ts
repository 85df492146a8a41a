import type { Session } from '../command-line/command.ts';
import { COMMANDS } from '../definitions/all.ts';

/** The session of kube-proxy-wrapper: it reaches the wrapper on this node. */
export const localSession: Session = {
  program: 'kube-proxy-wrapper',
  commands: COMMANDS,
  openAdmin: async (flags) => {
    const { adminUrl, createAdminClient } = await import('../client/admin-client.ts');
    return createAdminClient(adminUrl(flags));
  },
  print: async (report, flags) => (await import('../output/print.ts')).printReport(report, flags),
};
