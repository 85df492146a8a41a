import { closedLater } from '../closed-later.ts';
import { startProcess, type WrapperProcess } from './wrapper-process.ts';

/** Starts `run` on edge-1 with these flags, on free ports. It is killed later. */
export function useProcess(kubeconfig: string, ...flags: readonly string[]): WrapperProcess {
  const ports = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
  const started = startProcess([
    ...['--node-name', 'edge-1', '--kubeconfig', kubeconfig],
    ...ports,
    ...flags,
  ]);
  closedLater({ close: () => started.kill() });
  return started;
}
