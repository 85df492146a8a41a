import { join } from 'node:path';
import type { Cluster } from './cluster.ts';
import { API_SERVER } from './network.ts';

/** What one does not answer. */
export const SILENCES = {
  nothing: { port: '6444', hangs: '.' },
  'no list of Services': { port: '6445', hangs: '^/api/v1/services' },
} as const;

const HOST = '127.0.0.1';

/** Takes the paths of certificate and key, the port, and what it does not answer. It passes all else on. */
const SCRIPT = `
const { readFileSync } = require('node:fs');
const https = require('node:https');
const [certFile, keyFile, listen, hangs] = process.argv.slice(1);
const cert = readFileSync(certFile);
const isHanging = new RegExp(hangs);
const to = { host: '${API_SERVER.address}', port: ${API_SERVER.port}, ca: cert };
https.createServer({ cert, key: readFileSync(keyFile) }, (request, response) => {
  const { method, url: path, headers } = request;
  if (isHanging.test(path)) return;
  const onward = https.request({ ...to, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}).listen(Number(listen), '${HOST}');
`;

/** The environment of a Pod that reads from one. */
export function environmentOf(silence: keyof typeof SILENCES) {
  return { KUBERNETES_SERVICE_HOST: HOST, KUBERNETES_SERVICE_PORT: SILENCES[silence].port };
}

/**
 * Starts them on each node: they have the certificate of the API server, and accept all requests. They end with the
 * node.
 */
export function startSilentServers({ folder, nodes }: Cluster): void {
  const files = ['crt', 'key'].map((end) => join(folder, `apiserver.${end}`));
  for (const node of nodes) {
    for (const { port, hangs } of Object.values(SILENCES)) {
      const args = ['-e', SCRIPT, ...files, port, hangs];
      node.spawn({ name: `silent-server-${port}`, command: process.execPath, args });
    }
  }
}
