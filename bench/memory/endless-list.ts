/** Measures what lists that never end take, from an API server that answers every query so; see ../NOTES.md. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { startMeasured } from './process.ts';

const { values } = parseArgs({
  options: {
    wrapper: { type: 'string', default: 'dist/main.js' },
    views: { type: 'string', default: '0' },
    gzip: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '30' },
  },
});

const PLAIN = Buffer.alloc(65_536, 120);
const BOMB = gzipSync(Buffer.alloc(16 * 1024 * 1024, 120));
let sent = 0;

const hostile = createServer((_request, response) => {
  const headers = { 'content-type': 'application/vnd.kubernetes.protobuf' };
  response.writeHead(200, values.gzip ? { ...headers, 'content-encoding': 'gzip' } : headers);
  const chunk = values.gzip ? BOMB : PLAIN;
  const pump = (): void => {
    while (!response.destroyed) {
      sent += chunk.length;
      if (!response.write(chunk)) break;
    }
  };
  response.on('drain', pump).on('error', () => {});
  pump();
});
hostile.listen(0, '127.0.0.1');
await once(hostile, 'listening');

const url = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
const wrapper = await startMeasured(values.wrapper, url);
try {
  const slices = '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=';
  const ask = (selector: string): void => {
    const headers = { accept: 'application/vnd.kubernetes.protobuf' };
    const path = slices + encodeURIComponent(selector);
    const asked = request({ host: '127.0.0.1', port: wrapper.port, path, headers }, (answer) =>
      answer.resume(),
    );
    asked.on('error', () => {}).end();
  };
  ask('!service.kubernetes.io/headless');
  for (let n = 0; n < Number(values.views); n++) ask(`x!=${n}`);
  await sleep(Number(values.seconds) * 1_000);
  const figures = { ...(await wrapper.memory()), sent: Math.round(sent / 1e6) };
  console.log(JSON.stringify({ views: values.views, gzip: values.gzip, ...figures }));
} finally {
  await wrapper.stop();
  hostile.close();
  hostile.closeAllConnections();
}
