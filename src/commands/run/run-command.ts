import { type Call, EXIT } from '../command-line/command.ts';
import { type Flags, textFlag } from '../command-line/flags.ts';
import { run } from './run.ts';

/** Executes `kube-proxy-wrapper run`. */
export async function executeRun({ flags }: Call): Promise<number> {
  const settings = {
    nodeName: flags['node-name'],
    kubeconfig: flags.kubeconfig,
    listen: flags.listen,
    adminListen: flags['admin-listen'],
    logLevel: flags['log-level'],
    stateDir: flags['state-dir'],
    localRuntime: flags['local-runtime'],
    handoverSeconds: numberOf(flags['handover-seconds']),
    dryRun: flags['dry-run'],
  };
  await run(settings, textFlag(flags, 'config'));
  return EXIT.ok;
}

/** Any other text is returned unchanged, so that the check of the settings reports it. */
function numberOf(value: Flags[string]): unknown {
  return typeof value === 'string' && /^[0-9]+$/.test(value) ? Number(value) : value;
}
