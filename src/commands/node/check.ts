import type { Table } from '../../admin/explain/table.ts';
import { WrapperError } from '../../errors.ts';
import type { AdminClient } from '../client/admin-client.ts';
import { type Call, EXIT } from '../command-line/command.ts';
import { choiceFlag, type Flags, numberFlag, textFlag, UsageError } from '../command-line/flags.ts';
import type { Report } from '../output/report.ts';
import { checkKubeconfig, checkSockets } from './check/check-connection.ts';
import { checkIdentity } from './check/check-identity.ts';
import { checkKernel, type KernelCheck } from './check/check-kernel.ts';
import { checkStatus, readTable } from './check/check-wrapper.ts';
import { MODES } from './check/read-kernel-table.ts';
import { formatVerdicts, type Verdict } from './check/verdict.ts';
import { wrapperListeners } from './check/wrapper-listeners.ts';

/** Executes `check`. */
export async function executeCheck({ flags, session }: Call): Promise<number> {
  const kernel = readKernelFlags(flags);
  const admin = await session.openAdmin(flags);
  try {
    const verdicts = [
      ...(await checkOwnIdentity(flags)),
      ...(await checkAll(admin, flags, kernel)),
    ];
    await session.print(checkReport(verdicts), flags);
    return checkCode(verdicts);
  } finally {
    await admin.close();
  }
}

export function checkReport(verdicts: readonly Verdict[]): Report {
  return { data: { verdicts }, text: () => formatVerdicts(verdicts) };
}

export function checkCode(verdicts: readonly Verdict[]): number {
  return verdicts.some(({ outcome }) => outcome === 'fail') ? EXIT.findings : EXIT.ok;
}

async function checkOwnIdentity(flags: Flags): Promise<Verdict[]> {
  const kubeconfig = textFlag(flags, 'kubeconfig');
  const context = textFlag(flags, 'context');
  if (kubeconfig !== undefined) return [await checkIdentity(kubeconfig, context)];
  if (context === undefined) return [];
  throw new UsageError('--context needs --kubeconfig, the kubeconfig of the wrapper');
}

async function checkAll(
  admin: AdminClient,
  flags: Flags,
  kernel: Omit<KernelCheck, 'admin'>,
): Promise<Verdict[]> {
  const verdicts = await checkStatus(admin);
  const table = await tableOf(admin);
  if (table === undefined) return verdicts;
  const listeners = wrapperListeners(table);
  const proxyConfig = textFlag(flags, 'kube-proxy-kubeconfig');
  if (proxyConfig !== undefined) verdicts.push(await checkKubeconfig(proxyConfig, listeners));
  verdicts.push(await checkSockets(listeners));
  const isWatched = verdicts.some(({ name, outcome }) => name === 'kube-proxy' && outcome === 'ok');
  if (isWatched) verdicts.push(await checkKernel({ ...kernel, admin }));
  if (table.dryRun) verdicts.push(DRY_RUN);
  return verdicts;
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

const DRY_RUN: Verdict = {
  name: 'policies',
  outcome: 'notYet',
  text: 'dry run: all endpoints are shown, independent of policies',
};

function readKernelFlags(flags: Flags): Omit<KernelCheck, 'admin'> {
  const mode = textFlag(flags, 'mode') === undefined ? undefined : choiceFlag(flags, 'mode', MODES);
  const wait = numberFlag(flags, 'wait', ' of seconds', 5);
  const metrics = textFlag(flags, 'kube-proxy-metrics') ?? '127.0.0.1:10249';
  return { mode, waitMs: wait * 1000, metricsUrl: `http://${metrics}` };
}
