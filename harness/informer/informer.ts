import type { NodeNetns } from '../network/node-netns.ts';
import type { Binaries } from '../process/binaries.ts';
import { type ManagedProcess, readLines } from '../process/managed-process.ts';

/** One stock client-go informer. */
export interface InformerVariant {
  /** Names it in reports and in its user agent. */
  readonly name: string;
  /** URL of a server that needs no credentials; else {@link InformerVariant.kubeconfig}. */
  readonly server?: string;
  readonly kubeconfig?: string;
  readonly resource: 'endpointslices' | 'endpoints' | 'services' | 'nodes';
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Resync period of the informer, in seconds. Default 0: never. */
  readonly resyncSeconds?: number;
  /**
   * Resync period of its handler. Default: the period of the informer. One of 0 with an informer that has another
   * never gets an update that keeps the resourceVersion.
   */
  readonly handlerResyncSeconds?: number;
  readonly contentType: 'protobuf' | 'json';
  /** True: streaming list. False: LIST, then WATCH. */
  readonly streaming: boolean;
}

/** An object in an informer. */
export interface InformerRow {
  /** `namespace/name`. */
  readonly key: string;
  /** Addresses, sorted; ` notReady` is appended to those that are not ready. */
  readonly endpoints: readonly string[];
}

/** What an informer holds. */
export interface InformerReport {
  readonly name: string;
  readonly store: readonly InformerRow[];
  /** The same as rebuilt from nothing but the calls of the event handler. */
  readonly handled: readonly InformerRow[];
}

/** A process with several informers. */
export interface Informers {
  /** Resolves when all have synced; fails after `timeoutMs` (default 60,000). */
  allSynced(timeoutMs?: number): Promise<void>;
  /** What each holds now, by its name. */
  dump(): Promise<ReadonlyMap<string, InformerReport>>;
  stop(): Promise<void>;
}

export interface InformersOptions {
  readonly binaries: Binaries;
  /** Where it runs. */
  readonly netns: NodeNetns;
  readonly variants: readonly InformerVariant[];
}

type Line =
  | { readonly synced: true; readonly name: string }
  | { readonly dump: readonly InformerReport[] };

/** Starts one process with all these informers, inside the namespace. */
export function startInformers(options: InformersOptions): Informers {
  const { binaries, netns, variants } = options;
  const managed = netns.spawn({
    name: 'informer',
    command: binaries.informer,
    args: ['--config', JSON.stringify(variants)],
    logFile: `${netns.folder}/informer.log`,
    piped: true,
  });
  return readInformers(managed, variants.length);
}

function readInformers(managed: ManagedProcess, count: number): Informers {
  const { stdin } = managed.child;
  if (stdin === null) throw new Error('the informer needs pipes');
  stdin.on('error', () => {});
  const synced: string[] = [];
  const dumps: ((reports: readonly InformerReport[] | undefined) => void)[] = [];
  const all = Promise.withResolvers<void>();
  readLines(managed, (text) => {
    const line = JSON.parse(text) as Line;
    if ('dump' in line) {
      dumps.shift()?.(line.dump);
    } else {
      synced.push(line.name);
      if (synced.length === count) all.resolve();
    }
  });
  void managed.exited.then(() => {
    for (const settle of dumps.splice(0)) settle(undefined);
  });
  return {
    allSynced: async (timeoutMs = 60_000) => {
      const failed = Promise.withResolvers<never>();
      const fail = () => {
        const log = managed.log().slice(-3000);
        failed.reject(new Error(`only [${synced}] have synced; log of the informer: ${log}`));
      };
      const timer = setTimeout(fail, timeoutMs);
      void managed.exited.then(fail);
      // It may be rejected after nobody waits any more, when the process is stopped.
      failed.promise.catch(() => {});
      await Promise.race([all.promise, failed.promise]).finally(() => clearTimeout(timer));
    },
    dump: async () => {
      const reports = await new Promise<readonly InformerReport[] | undefined>((settle) => {
        if (managed.ending() !== undefined) return settle(undefined);
        dumps.push(settle);
        stdin.write('dump\n');
      });
      if (reports === undefined) throw new Error(`informer ended: ${managed.log().slice(-3000)}`);
      return new Map(reports.map((report) => [report.name, report]));
    },
    stop: async () => await managed.stop(),
  };
}
