import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { writeServingFiles } from '../../harness/certificates.ts';
import { listenersOptions } from '../../src/config/listener-options.ts';
import { nodeProxyOptions } from '../../src/config/node-proxy-options.ts';
import { loadSettings } from '../../src/config/settings.ts';
import { startRelay } from '../../src/relay/relay.ts';
import { type NodeProxyOptions, startNodeProxy } from '../../src/server/node-proxy.ts';
import { FakeCredentials } from '../support/http/credentials.ts';
import { useFolder } from '../support/use-folder.ts';

/*
 * A start that fails once left open, depending on the step, the second line to the API server, the followed certificate
 * and the listeners.
 */

/** Nothing answers there: a start does not wait for the API server. */
const API_SERVER = new URL('https://127.0.0.1:1');
const RELAY = new URL('https://127.0.0.1:2');

interface Handle {
  readonly type: string;
  readonly is_active: boolean;
}

/** Followed folders and sockets of this process, those that do not keep it alive included. */
function openHandles(): number[] {
  Object.assign(process.report, { excludeNetwork: true });
  const { libuv } = process.report.getReport() as unknown as { readonly libuv: readonly Handle[] };
  const open = libuv.filter((handle) => handle.is_active).map(({ type }) => type);
  return ['fs_event', 'tcp'].map((type) => open.filter((other) => other === type).length);
}

/** Options of which only the first ones can be read. A start reads one or more in each of its steps. */
function readableUntil(options: NodeProxyOptions, reads: number): NodeProxyOptions {
  let left = reads;
  return new Proxy(options, {
    get(target, name) {
      if (left-- === 0) throw new Error(`cannot read ${String(name)}, after ${reads} others`);
      return Reflect.get(target, name);
    },
  });
}

async function useOptions(raw: object): Promise<NodeProxyOptions & { readonly caFile: string }> {
  const folder = useFolder();
  const { certFile, keyFile, caFile } = await writeServingFiles(folder);
  const settings = loadSettings(
    {
      nodeName: 'edge-1',
      https: { listen: '127.0.0.1:0', certFile, keyFile },
      stateDir: `${folder}/state`,
      ...raw,
    },
    {},
    undefined,
  );
  return {
    ...nodeProxyOptions(settings),
    ...listenersOptions(settings),
    credentials: new FakeCredentials(API_SERVER),
    queries: [],
    logger: pino({ level: 'silent' }),
    caFile,
  };
}

type Start = (options: NodeProxyOptions) => Promise<{ close(): Promise<void> }>;

/** Lets the start fail after each option that it reads; returns the failures that left something open. */
async function leaksOf(start: Start, options: NodeProxyOptions): Promise<string[]> {
  const leaks: string[] = [];
  for (let reads = 0, isStarted = false; !isStarted; reads++) {
    const credentials = new FakeCredentials(API_SERVER);
    const before = openHandles();
    let end = 'closed';
    try {
      const started = await start(readableUntil({ ...options, credentials }, reads));
      isStarted = true;
      await started.close();
    } catch (error) {
      end = (error as Error).message;
    }
    await nextTurn();
    const { listeners } = credentials;
    // Fewer may be open, because another test has closed its own meanwhile.
    const handles = openHandles().map((count, index) => count - (before[index] ?? 0));
    if ([listeners, ...handles].some((count) => count > 0)) {
      leaks.push(`${end}: ${listeners} listeners, ${handles.join(' + ')} handles`);
    }
  }
  return leaks;
}

test('a wrapper that cannot start leaves nothing open, whichever step fails', async () => {
  const raw = { listen: '127.0.0.1:0', namespacePolicies: true, localRuntime: '/nowhere.sock' };
  const { caFile, ...options } = await useOptions(raw);
  const relays = { servers: [RELAY], caFile };
  expect(await leaksOf(startNodeProxy, { ...options, relays })).toEqual([]);
});

test('nor does one that looks for its relays', async () => {
  const { caFile, ...options } = await useOptions({ listen: '127.0.0.1:0' });
  const relays = { service: 'default/relay', caFile };
  expect(await leaksOf(startNodeProxy, { ...options, relays })).toEqual([]);
});

test('a relay that cannot start leaves nothing open, whichever step fails', async () => {
  const { caFile, ...options } = await useOptions({ listen: 'none' });
  expect(await leaksOf(startRelay, options)).toEqual([]);
});
