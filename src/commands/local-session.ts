import { adminUrl, createAdminClient } from './admin-client.ts';
import type { Session } from './command.ts';
import { COMMANDS } from './definitions/all.ts';
import { printReport } from './output/print.ts';

/** The session of kube-proxy-wrapper: it reaches the wrapper on this node. */
export const localSession: Session = {
  program: 'kube-proxy-wrapper',
  commands: COMMANDS,
  openAdmin: async (flags) => createAdminClient(adminUrl(flags)),
  print: printReport,
};
