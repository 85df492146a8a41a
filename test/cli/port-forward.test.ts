import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openPortForward } from '../../cli/client/port-forward.ts';
import type { Credentials } from '../../src/client/credentials/credentials.ts';
import { eventually } from '../support/eventually.ts';
import { startServer, type TestServer } from '../support/http/http-server.ts';
import { acceptWebSocket, type ServerWebSocket } from '../support/remote/accept-web-socket.ts';

/** Data and errors of port 10361, each channel's first message. */
const PORT = [Buffer.of(0, 0x79, 0x28), Buffer.of(1, 0x79, 0x28)];

let server: TestServer;
let open: number;
/** Ends the connection of a test. */
let ended: AbortController;
/** What the kubelet does with a connection, at once. */
let serve: (kubelet: ServerWebSocket) => void;

beforeEach(async () => {
  open = 0;
  ended = new AbortController();
  server = await startServer(() => {});
  server.server.on('upgrade', acceptAll);
});

function acceptAll(request: IncomingMessage, socket: Duplex, head: Buffer): void {
  acceptWebSocket(request, socket, head, (kubelet) => {
    open++;
    kubelet.once('close', () => open--);
    for (const message of PORT) kubelet.send(message);
    serve(kubelet);
  });
}

afterEach(async () => {
  await server.close();
});

async function connect() {
  const credentials = { servers: [server.url], tls: () => ({}), headers: async () => ({}) };
  const pod = { namespace: 'a', name: 'b' };
  return await openPortForward(credentials as unknown as Credentials, pod, 10361, ended.signal);
}

test('bytes go both ways, and the numbers of the port are no data', async () => {
  serve = (kubelet) =>
    kubelet.on('message', (message) => {
      kubelet.send(Buffer.concat([Buffer.of(0), Buffer.from(`heard ${message.subarray(1)}. `)]));
    });
  const stream = await connect();
  stream.write('one');
  expect(String(await once(stream, 'data'))).toBe('heard one. ');
  stream.destroy();
  await eventually(() => open, 0);
});

// Otherwise a request would wait until its time limit.
test('the stream ends when the kubelet closes the connection', async () => {
  serve = (kubelet) => {
    kubelet.send(Buffer.from('\0rest'));
    kubelet.close();
  };
  expect(await text(await connect())).toBe('rest');
  await eventually(() => open, 0);
});

test.each([0, 50])(
  'an error that the kubelet reports after %d ms is that of the stream, and ends the connection',
  async (ms) => {
    serve = (kubelet) =>
      ms === 0
        ? kubelet.send(Buffer.from('\u0001no route\n'))
        : setTimeout(() => kubelet.send(Buffer.from('\u0001no route\n')), ms);
    const stream = await connect();
    await expect(text(stream)).rejects.toThrow('port 10361 of Pod a/b is unreachable: no route');
    await eventually(() => open, 0);
  },
);

test.each([
  ['while it is opened', () => {}],
  ['when it is open', acceptAll],
])('its signal ends the connection %s', async (_, onUpgrade) => {
  const sockets: Duplex[] = [];
  server.server.removeAllListeners('upgrade').on('upgrade', (request, socket, head) => {
    sockets.push(socket.resume().once('end', () => socket.end()));
    onUpgrade(request, socket, head);
  });
  serve = () => {};
  const stream = connect();
  stream.catch(() => {});
  await eventually(() => sockets.length, 1);
  if (onUpgrade === acceptAll) await stream;
  ended.abort();
  await eventually(() => sockets.every(({ destroyed }) => destroyed), true);
});

test('a signal that is aborted before opens no connection', async () => {
  ended.abort();
  await expect(connect()).rejects.toThrow('cannot forward a port of Pod a/b');
});

// "does not answer as an API server; check the server of the kubeconfig" sent people the wrong way.
test('a kubelet that has just started and does not know the Pod yet is named', async () => {
  server.server.removeAllListeners('upgrade').on('upgrade', (_, socket) => {
    socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 18\r\n\r\npod does not exist');
  });
  await expect(connect()).rejects.toThrow(
    'cannot forward a port of Pod a/b: HTTP 404: pod does not exist; its node has just started',
  );
});
