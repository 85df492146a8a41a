import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:http2';
import { get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { issue, makeAuthority } from '../../harness/certificates.ts';
import { freePorts } from '../../harness/network/free-port.ts';
import { FaultFront } from '../real/faults/fault-front.ts';
import { closedLater, stoppedLater } from '../support/closed-later.ts';
import { eventually } from '../support/eventually.ts';

// It was HTTP/2 for good once a client had spoken it: dead connections of HTTP/1.1, which are left where HTTP/2 was not
// offered for a moment, were expected to be noticed as fast.
test('a front speaks HTTP/1.1 as long as a request over it is open', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closedLater({
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  });
  const { port: backend } = server.address() as AddressInfo;
  const [port = 0, innerPort = 0] = await freePorts(2);
  const front = stoppedLater(
    new FaultFront({
      port,
      innerPort,
      certificate: await issue(await makeAuthority(), 'api-server', '127.0.0.1'),
      backend: { origin: `http://127.0.0.1:${backend}` },
      protocols: ['h2', 'http/1.1'],
    }),
  );
  await front.start();
  const session = connect(front.url, { rejectUnauthorized: false }).on('error', () => {});
  closedLater({ close: async () => session.destroy() });
  const watch = session.request({ ':path': '/watch' }).on('error', () => {});
  await eventually(() => front.open.size, 1);
  expect(front.protocol).toBe('h2');
  const old = get(`${front.url}/watch`, { rejectUnauthorized: false }).on('error', () => {});
  await eventually(() => front.open.size, 2);
  expect(front.protocol).toBe('http/1.1');
  session.request({ ':path': '/watch' }).on('error', () => {});
  await eventually(() => front.open.size, 3);
  expect(front.protocol).toBe('http/1.1');
  old.destroy();
  await eventually(() => front.open.size, 2);
  expect(front.protocol).toBe('h2');
  watch.close();
  await eventually(() => front.open.size, 1);
  expect(front.protocol).toBe('h2');
});
