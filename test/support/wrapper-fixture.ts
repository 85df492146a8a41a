import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { kubeconfigFor } from '../../embedded/kubeconfig.ts';
import { loadCredentials } from '../../src/proxy/credentials.ts';
import {
  type NodeProxy,
  type NodeProxyOptions,
  startNodeProxy,
} from '../../src/proxy/node-proxy.ts';

/** A logger that keeps what is logged, as parsed lines. */
export function recordingLogger(): { readonly logger: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const write = (line: string): void => {
    lines.push(JSON.parse(line) as LogLine);
  };
  return { logger: pino({ level: 'debug' }, { write }), lines };
}

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [key: string]: unknown;
}

/** Starts the real proxy in this process in front of an API server that takes plain http. */
export async function startWrapper(
  apiServer: string,
  options: Partial<NodeProxyOptions> = {},
): Promise<NodeProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'kube-proxy-wrapper-test-'));
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigFor(apiServer));
  const logger = options.logger ?? pino({ level: 'silent' });
  const credentials = await loadCredentials({ kubeconfig, logger });
  const proxy = await startNodeProxy({
    nodeName: 'edge-1',
    credentials,
    http: { host: '127.0.0.1', port: 0 },
    policies: { defaultKeys: [], headless: false },
    window: { entries: 1000, bytes: 1 << 20 },
    maxViews: 16,
    idleViewMs: 60_000,
    readyWaitMs: 300,
    bookmarkMs: 60_000,
    minWatchMs: 60_000,
    logger,
    ...options,
  });
  return {
    ...proxy,
    async close() {
      await proxy.close();
      credentials.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
