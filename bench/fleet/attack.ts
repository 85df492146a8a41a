import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { createService, createSlice } from '../../harness/api-server/cluster-objects.ts';
import { inLanes } from '../../harness/hostile/http.ts';
import { CURRENT_SLICES } from '../../src/client/api/kube-proxy-queries.ts';
import { queryPath } from '../../src/client/api/query.ts';
import type { Bench } from '../bench.ts';
import type { MeasuredWrapper } from '../wrapper.ts';
import { createTokens, type Site } from './site.ts';

/** Watches of one caller, which has many tokens and one address, to which a relay gives 640. */
const WATCHES = 3_072;
const SMOKE_WATCHES = 100;
const TOKENS = 64;
/** Large slices that change meanwhile, and how often all of them do. */
const FAT = 3;
const ROUNDS = 10;
const PAUSE_MS = 500;
const SLICES = '/apis/discovery.k8s.io/v1';

/** Opens watches that nobody reads at a relay, while large slices change. Returns its peak of memory, in MB. */
export async function attackRelay(
  bench: Bench,
  site: Site,
  relay: MeasuredWrapper,
): Promise<{ readonly accepted: number; readonly peak: number }> {
  const { plane, options } = bench;
  const tokens = await createTokens(bench, 'bench-tenant', TOKENS);
  const list = await plane.admin.get(`${SLICES}/endpointslices?limit=1`);
  const parameters = { watch: 'true', resourceVersion: list.metadata.resourceVersion ?? '' };
  const path = queryPath(CURRENT_SLICES, new URLSearchParams(parameters));
  const sockets: TLSSocket[] = [];
  const numbers = Array.from({ length: options.smoke ? SMOKE_WATCHES : WATCHES }, (_, n) => n);
  relay.forgetPeak();
  try {
    let accepted = 0;
    await inLanes(numbers, 32, async (n) => {
      const status = await openUnread(site.relayUrl(0), path, tokens[n % TOKENS] ?? '', sockets);
      if (status === 200) accepted += 1;
    });
    await changeFatSlices(bench);
    await sleep(options.settleMs);
    return { accepted, peak: relay.memory().peak };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** Resolves with the status of the answer, 0 if there is none. Nothing more is read. */
function openUnread(
  url: string,
  path: string,
  token: string,
  sockets: TLSSocket[],
): Promise<number> {
  const { hostname: host, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false });
    sockets.push(socket);
    socket.on('error', () => resolve(0)).once('close', () => resolve(0));
    const accept = 'application/vnd.kubernetes.protobuf;stream=watch';
    const lines = `Host: x\r\nAccept: ${accept}\r\nAuthorization: Bearer ${token}\r\n`;
    socket.once('secureConnect', () => socket.write(`GET ${path} HTTP/1.1\r\n${lines}\r\n`));
    socket.once('data', (head: Buffer) => {
      socket.pause();
      resolve(Number(/^HTTP\/1.1 (\d+)/.exec(head.toString('latin1', 0, 20))?.[1]));
    });
  });
}

async function changeFatSlices({ plane: { admin }, options }: Bench): Promise<void> {
  const name = 'fat';
  await admin.delete(`/api/v1/namespaces/default/services/${name}`);
  await createService(admin, { name, ports: [{ port: 80 }] });
  const paths = Array.from({ length: FAT }, (_, n) => {
    return `${SLICES}/namespaces/default/endpointslices/${name}-${n}`;
  });
  for (let round = 0; round < (options.smoke ? 1 : ROUNDS); round++) {
    for (const [n, path] of paths.entries()) {
      const endpoints = fatEndpoints(round * FAT + n);
      if (round > 0) await admin.patch(path, { endpoints });
      else {
        await admin.delete(path);
        const ports = [{ name: '', port: 80, protocol: 'TCP' }];
        await createSlice(admin, { name: `${name}-${n}`, service: name, ports, endpoints });
      }
      await sleep(options.smoke ? 0 : PAUSE_MS);
    }
  }
  for (const path of paths) await admin.delete(path);
}

function fatEndpoints(change: number) {
  return Array.from({ length: 1_000 }, (_, n) => ({
    addresses: [`10.${change}.${n >> 8}.${n & 255}`],
    nodeName: `${'x'.repeat(200)}-${n}`,
    conditions: { ready: true },
  }));
}
