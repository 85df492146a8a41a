#!/bin/bash
# undici 8.12.4 on Node.js 24.21.0: Pool and Agent over HTTP/2.
# Expected: requests of a short time share one HTTP/2 connection. While the first one opens they do: the Pool keeps
#   them back until its Client drains, which is when the server's SETTINGS are there.
# Seen: not on the connection that replaces a lost one. That Client drains before it has sent anything, so the Pool
#   lets further requests go; until the SETTINGS come, one round trip after the handshake, the Client counts as busy
#   after its first stream, and the Pool opens a second connection. Both stay as long as their streams.
# Who meets it: clients of long streams over links that break, such as watches of a Kubernetes API server from a site:
#   a second TLS handshake over the slow link after each cut, and two connections for each client at the server.
# Output, 2026-11-29:
#   a request each 10 ms while the first connection opens: 1 connection
#   the same after it was lost:                            2 more
set -u; d=$(mktemp -d); trap 'rm -rf "$d"' EXIT; cd "$d"
npm init -y >/dev/null 2>&1 && npm i --no-audit --no-fund --silent node@24.21.0 undici@8.12.4 >/dev/null 2>&1 || { echo "install fails"; exit 1; }
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost -keyout k -out c 2>/dev/null
cat > t.mjs <<'J'
import http2 from 'node:http2'; import net from 'node:net'; import fs from 'node:fs'; import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises'; import { Pool } from 'undici';
const listen = async (server) => (await once(server.listen(0, '127.0.0.1'), 'listening'), server.address().port);
const server = http2.createSecureServer({ key: fs.readFileSync('k'), cert: fs.readFileSync('c') });
server.on('sessionError', () => {}).on('stream', (stream) => stream.on('error', () => {}).respond({ ':status': 200 }));
const port = await listen(server);
// A link of 30 ms each way, which can be cut.
let connections = 0; const open = new Set();
const slowly = (from, to) => from.on('data', (bytes) => setTimeout(() => to.writable && to.write(bytes), 30)).on('error', () => {}).on('close', () => to.destroy());
const link = net.createServer((near) => { connections++; const far = net.connect(port, '127.0.0.1'); open.add(near); slowly(near, far); slowly(far, near); });
const pool = new Pool(`https://localhost:${await listen(link)}`, { allowH2: true, pipelining: 100, connect: { rejectUnauthorized: false }, bodyTimeout: 0 });
const many = async () => {
  const all = [];
  for (let n = 0; n < 30; n++) { all.push(pool.request({ path: '/', method: 'GET' })); await sleep(10); }
  for (const { body } of await Promise.all(all)) body.on('error', () => {}).resume();
  return connections;
};
const first = await many();
for (const socket of open) socket.destroy();
await sleep(300);
const more = (await many()) - first;
console.log(`a request each 10 ms while the first connection opens: ${first} connection\nthe same after it was lost:                            ${more} more`);
process.exit(first === 1 && more === 2 ? 0 : 1);
J
timeout 30 node_modules/.bin/node t.mjs; rc=$?; [ $rc = 0 ] && echo "still so" || echo "changed (exit $rc)"; [ $rc = 0 ]
