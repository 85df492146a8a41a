import type { Table } from '../../admin/explain/table.ts';
import type { StatusLine } from '../../admin/status/status-line.ts';
import { WrapperError } from '../../errors.ts';
import { type AdminClient, type AdminFlags, withAdmin } from '../client/admin-client.ts';
import { type Call, EXIT, type Result } from '../command-line/command.ts';
import { UsageError } from '../command-line/usage-error.ts';
import type { KubeconfigFlags } from '../command-line/user-kubeconfig.ts';
import { formatStatusLines } from '../output/status-text.ts';
import { checkKubeconfig, checkSockets } from './check/check-connection.ts';
import { checkIdentity } from './check/check-identity.ts';
import { checkKernel, type KernelFlags } from './check/check-kernel.ts';
import { checkStatus, readTable } from './check/check-wrapper.ts';
import { wrapperListeners } from './check/wrapper-listeners.ts';

export interface CheckFlags extends AdminFlags, KubeconfigFlags, KernelFlags {
  readonly kubeProxyKubeconfig?: string;
}

/** Executes `check`. */
export async function executeCheck({ flags }: Call<CheckFlags>): Promise<Result> {
  const lines = [
    ...(await checkOwnIdentity(flags)),
    ...(await withAdmin(flags, (admin) => checkAll(admin, flags))),
  ];
  return {
    code: lines.some(({ state }) => state === 'problem') ? EXIT.findings : EXIT.ok,
    report: { data: { lines }, text: () => formatStatusLines(lines) },
  };
}

async function checkOwnIdentity({ kubeconfig, context }: KubeconfigFlags): Promise<StatusLine[]> {
  if (kubeconfig !== undefined) return [await checkIdentity(kubeconfig, context)];
  if (context === undefined) return [];
  throw new UsageError('--context needs --kubeconfig, the kubeconfig of the wrapper');
}

async function checkAll(admin: AdminClient, flags: CheckFlags): Promise<StatusLine[]> {
  const lines = await checkStatus(admin);
  const table = await tableOf(admin);
  if (table === undefined) return lines;
  const listeners = wrapperListeners(table);
  const { kubeProxyKubeconfig: proxyConfig } = flags;
  if (proxyConfig !== undefined) lines.push(await checkKubeconfig(proxyConfig, listeners));
  lines.push(await checkSockets(listeners));
  const isWatched = lines.some(({ id, state }) => id === 'kube-proxy' && state === 'ok');
  if (isWatched) lines.push(await checkKernel(admin, flags));
  if (table.dryRun) lines.push(DRY_RUN);
  return lines;
}

/** Undefined if there is none yet: then the status says why. */
async function tableOf(admin: AdminClient): Promise<Table | undefined> {
  try {
    return await readTable(admin);
  } catch (error) {
    const { code } = WrapperError.from(error, 'Unreachable');
    if (code === 'NotReady' || code === 'Unreachable') return undefined;
    throw error;
  }
}

const DRY_RUN: StatusLine = {
  id: 'policies',
  state: 'notConnected',
  text: 'dry run: all endpoints are shown, independent of policies',
};
