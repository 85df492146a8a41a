import type { ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { NoResponse } from '../../../src/proxy/upstream/agent-request.ts';
import { Http1Connections } from '../../../src/proxy/upstream/http1-connections.ts';
import { startServer, type TestServer } from '../../support/http/http-server.ts';
import { until } from '../../support/http/until.ts';

/*
 * The clock is fake, so that no connection is too slow for these limits. The network is real.
 */
const TIMES = {
  ...{ connectMs: 1000, headersMs: 5000, probeMs: 1234, idleMs: 60_000 },
  ...{ quietMs: 15_000, pingMs: 10_000 },
};

let server: TestServer;
let agent: Http1Connections;
/** Requests that the server has received and not answered. */
let open: ServerResponse[];
let requests: number;
let sockets: Set<Socket>;
let connected: number;

beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
  [open, requests, connected] = [[], 0, 0];
  sockets = new Set();
  server = await startServer((_request, response) => {
    requests++;
    open.push(response);
  });
  agent = connectionsTo(server.url);
});

afterEach(async () => {
  jest.useRealTimers();
  agent.destroy();
  await server.idle();
  await server.close();
});

function connectionsTo(url: URL): Http1Connections {
  return new Http1Connections({
    ...{ server: url, tls: {}, times: TIMES },
    onSocket: (socket) => {
      if (!sockets.has(socket)) jest.spyOn(socket, 'setKeepAlive');
      sockets.add(socket);
    },
    onConnect: () => connected++,
  });
}

function ask(of = agent) {
  const { signal } = new AbortController();
  return of.request({ path: '/', method: 'GET', headers: {}, body: undefined, signal });
}

/** Waits until the server has got a request that it has not answered. */
async function asked(): Promise<ServerResponse> {
  await until(() => open.length > 0, 'the request');
  return open.shift() as ServerResponse;
}

async function answered(): Promise<string> {
  const asking = ask();
  (await asked()).end('ok');
  return await text((await asking).body);
}

/** Until the connection is in the pool again. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a request', () => {
  test('whose connection takes too long is ended', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    const accepted = new Promise<Socket>((resolve) => silent.once('connection', resolve));
    const other = connectionsTo(new URL(`https://127.0.0.1:${port}`));
    const asking = expect(ask(other)).rejects.toThrow('no connection within 1 s');
    const socket = await accepted;
    jest.advanceTimersByTime(TIMES.connectMs);
    await asking;
    socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
  });

  test('without a response in time is ended; once connected, only that limit applies', async () => {
    const asking = ask();
    const failed = expect(asking).rejects.toBeInstanceOf(NoResponse);
    await asked();
    let done = false;
    void asking.catch(() => {
      done = true;
    });
    jest.advanceTimersByTime(TIMES.headersMs - 1);
    await settled();
    expect(done).toBe(false);
    jest.advanceTimersByTime(1);
    await failed;
    expect(requests).toBe(1);
  });

  // Otherwise a request that hangs at the server would take twice the time, and would be sent twice.
  test('without a response in time on a reused connection is not sent again', async () => {
    expect(await answered()).toBe('ok');
    await settled();
    const failed = expect(ask()).rejects.toBeInstanceOf(NoResponse);
    await asked();
    jest.advanceTimersByTime(TIMES.connectMs);
    await settled();
    expect(server.connections.size).toBe(1);
    jest.advanceTimersByTime(TIMES.headersMs);
    await failed;
    expect([requests, server.accepted, connected]).toEqual([2, 1, 1]);
  });

  test('whose response has started has no time limit, because it may be a watch', async () => {
    const asking = ask();
    const response = await asked();
    response.write('a');
    const { body } = await asking;
    expect(jest.getTimerCount()).toBe(0);
    jest.advanceTimersByTime(3_600_000);
    response.end('b');
    expect(await text(body)).toBe('ab');
  });
});

describe('a connection', () => {
  test('is probed by TCP keep-alive, and reported once', async () => {
    expect(await answered()).toBe('ok');
    await settled();
    expect(await answered()).toBe('ok');
    const [socket, ...more] = sockets;
    expect(more).toEqual([]);
    expect(socket?.setKeepAlive).toHaveBeenCalledWith(true, TIMES.probeMs);
    expect(connected).toBe(1);
  });

  test('that is in use when its agent is closed ends with its request', async () => {
    const asking = ask();
    const response = await asked();
    agent.close();
    response.end('ok');
    expect(await text((await asking).body)).toBe('ok');
    await server.idle();
  });

  test('that is in use when its agent is destroyed ends immediately', async () => {
    const asking = ask();
    (await asked()).write('half');
    const reading = expect(text((await asking).body)).rejects.toThrow();
    agent.destroy();
    await reading;
    await server.idle();
  });
});
