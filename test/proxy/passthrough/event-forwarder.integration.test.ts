import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { WrapperError } from '../../../src/errors.ts';
import { parseRequestInfo } from '../../../src/proxy/api/request-info.ts';
import { statusOf } from '../../../src/proxy/api/status.ts';
import { RefusalLog } from '../../../src/proxy/http/refusal-log.ts';
import {
  EventForwarder,
  type EventForwarderOptions,
} from '../../../src/proxy/passthrough/event-forwarder.ts';
import type { ForwardOptions } from '../../../src/proxy/passthrough/passthrough.ts';
import { type Answer, ask } from '../../support/http/http-client.ts';
import { startServer, type TestServer } from '../../support/http/http-server.ts';
import {
  EVENTS,
  PATCH_TYPE,
  SERIES_PATCH,
  startingEvent,
} from '../../support/http/kube-proxy-events.ts';
import { until } from '../../support/http/until.ts';
import { type LogLine, recordingLogger } from '../../support/wrapper/wrapper-fixture.ts';

const [START] = EVENTS;

let server: TestServer;
let forwarder: EventForwarder;
let now = 0;
/** What was forwarded, and how the API server answers it. */
let forwarded: { readonly path: string | undefined; readonly body: string | undefined }[] = [];
let code = 201;
let holdAnswers = false;
let refusals: RefusalLog;
let lines: readonly LogLine[];
let held: (() => void)[] = [];
let sockets: Socket[] = [];

async function setUp(options: Partial<EventForwarderOptions> = {}): Promise<void> {
  const recorded = recordingLogger();
  const { logger } = recorded;
  lines = recorded.lines;
  refusals = new RefusalLog(logger);
  forwarder = new EventForwarder({
    nodeName: 'edge-1',
    hostName: 'edge-1',
    enabled: true,
    maxEventBytes: 4096,
    now: () => now,
    passthrough: {
      forward(request, response, { body, onAnswer }: ForwardOptions = {}) {
        forwarded.push({ path: request.url, body: body?.toString() });
        const answer = (): void => {
          onAnswer?.(code);
          response.writeHead(code).end();
        };
        if (holdAnswers) held.push(answer);
        else answer();
      },
    },
    respond: (_request, response, error: WrapperError) => {
      const status = statusOf(error);
      response.writeHead(status.code, { 'retry-after': String(status.retryAfterSeconds ?? 0) });
      response.end(JSON.stringify(status));
    },
    logger,
    refusals,
    ...options,
  });
  server = await startServer((request, response) => {
    const target = parseRequestInfo(request.url?.split('?')[0] ?? '');
    if (target.kind === 'events') forwarder.handle(request, response, target);
    else response.writeHead(500).end();
  });
}

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await server.close();
  refusals.close();
  [forwarded, held, sockets] = [[], [], []];
  [now, code, holdAnswers] = [0, 201, false];
});

function post(body: string, path = START.path, headers: object = {}): Promise<Answer> {
  return send('POST', path, body, { 'content-type': 'application/json', ...headers });
}

function patch(name: string, body = SERIES_PATCH): Promise<Answer> {
  return send('PATCH', `${START.path}/${name}`, body, { 'content-type': PATCH_TYPE });
}

function send(method: string, path: string, body: string, headers: object): Promise<Answer> {
  const length = { 'content-length': Buffer.byteLength(body) };
  return ask(new URL(path, server.url), { method, body, headers: { ...length, ...headers } });
}

const codeOf = ({ response }: Answer): number | undefined => response.statusCode;

/** Sends the head of a POST and a part of its body. */
function begin(length = 9): Socket {
  const socket = connect(Number(server.url.port), '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {});
  socket.write(`POST ${START.path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n{`);
  return socket;
}

describe('an Event', () => {
  test('is forwarded byte for byte, once all bytes were received', async () => {
    await setUp();
    const socket = begin(START.json.length);
    await until(() => server.connections.size === 1);
    expect(forwarded).toEqual([]);
    socket.destroy();
    expect(codeOf(await post(START.json))).toBe(201);
    expect(forwarded).toEqual([{ path: START.path, body: START.json }]);
    expect(forwarder.counts.forwarded).toBe(1);
  });

  test.each([
    ['disabled', { enabled: false }, START.json, START.path, 403],
    ['query', {}, START.json, `${START.path}?dryRun=All`, 403],
    ['too-large', {}, 'x'.repeat(4097), START.path, 413],
    ['malformed', {}, '{', START.path, 400],
    ['reporter', {}, startingEvent('a', { reportingController: 'x' }), START.path, 403],
  ] as const)(
    'is refused by the rule "%s", with a Status that names it, and counted',
    async (rule, options, body, path, expected) => {
      await setUp(options);
      const answer = await post(body, path);
      expect(JSON.parse(answer.body)).toMatchObject({
        code: expected,
        message: expect.stringMatching(`^kube-proxy-wrapper: Event refused by the rule "${rule}"`),
      });
      expect(forwarder.counts).toMatchObject({ [rule]: 1, forwarded: 0 });
      expect(forwarded).toEqual([]);
    },
  );

  test('that is refused by the setting gets a Status that names it', async () => {
    await setUp({ enabled: false });
    expect((await post(START.json)).body).toContain('forwardEvents');
  });

  test('of unknown length is refused before its body is read', async () => {
    await setUp();
    const headers = { 'transfer-encoding': 'chunked' };
    const answer = await ask(new URL(START.path, server.url), { method: 'POST', headers });
    expect(codeOf(answer)).toBe(411);
    expect(forwarder.counts['no-length']).toBe(1);
  });

  test('whose body is slow is refused in time, and its connection ends', async () => {
    await setUp({ bodyMs: 50 });
    const socket = begin();
    let received = '';
    socket.on('data', (chunk) => {
      received += String(chunk);
    });
    await new Promise<void>((resolve) => socket.once('close', () => resolve()));
    expect(received).toMatch(/^HTTP\/1.1 408 .*Connection: close.*within 0.05 s/is);
    expect(forwarder.counts).toMatchObject({ 'too-slow': 1, forwarded: 0 });
  });

  test('too many concurrent requests are refused immediately, and later ones are accepted', async () => {
    await setUp();
    for (let count = 0; count < 4; count++) begin();
    await until(() => server.connections.size === 4);
    const refused = async () => codeOf(await post(START.json)) === 429;
    while (!(await refused())) expect(forwarded.length).toBeLessThan(100);
    expect(forwarder.counts.busy).toBeGreaterThan(0);
    for (const socket of sockets) socket.destroy();
    await until(() => server.connections.size === 0);
    forwarded = [];
    await until(() => forwarder.counts.malformed === 4);
    expect(codeOf(await post(START.json))).toBe(201);
  });

  test('counts as concurrent until its response has ended', async () => {
    await setUp();
    holdAnswers = true;
    const waiting = [0, 1, 2, 3].map((index) => post(startingEvent(`a.${index}`)));
    await until(() => held.length === 4);
    const answer = await post(START.json);
    expect([codeOf(answer), answer.response.headers['retry-after']]).toEqual([429, '1']);
    for (const each of held.splice(0)) each();
    expect((await Promise.all(waiting)).map(codeOf)).toEqual([201, 201, 201, 201]);
  });
});

describe('the rate', () => {
  test('is a burst of 20, then 4 a minute; Retry-After is the time until the next one', async () => {
    await setUp();
    for (let count = 0; count < 20; count++) expect(codeOf(await post(START.json))).toBe(201);
    const answer = await post(START.json);
    expect([codeOf(answer), answer.response.headers['retry-after']]).toEqual([429, '15']);
    now += 14_000;
    expect((await post(START.json)).response.headers['retry-after']).toBe('1');
    now += 1_000;
    expect(codeOf(await post(START.json))).toBe(201);
    expect(codeOf(await post(START.json))).toBe(429);
    now += 60_000;
    const codes = [];
    for (let count = 0; count < 5; count++) codes.push(codeOf(await post(START.json)));
    expect(codes).toEqual([201, 201, 201, 201, 429]);
    expect(forwarder.counts).toMatchObject({ forwarded: 25, rate: 4 });
  });

  test('does not count requests that are refused for another reason', async () => {
    await setUp();
    for (let count = 0; count < 30; count++) await post('{');
    expect(codeOf(await post(START.json))).toBe(201);
  });

  test('applies to updates too', async () => {
    await setUp();
    await post(startingEvent('a.1'));
    code = 200;
    for (let count = 0; count < 19; count++) expect(codeOf(await patch('a.1'))).toBe(200);
    expect(codeOf(await patch('a.1'))).toBe(429);
  });
});

describe('an update', () => {
  test('is forwarded for an Event that the API server accepted from us', async () => {
    await setUp();
    await post(startingEvent('a.1'));
    code = 200;
    expect(codeOf(await patch('a.1'))).toBe(200);
    expect(forwarded[1]).toEqual({ path: `${START.path}/a.1`, body: SERIES_PATCH });
  });

  test.each([409, 403, 500])('is refused for one that it answered with %d', async (refused) => {
    await setUp();
    code = refused;
    await post(startingEvent('a.1'));
    expect(codeOf(await patch('a.1'))).toBe(403);
    expect(forwarder.counts['unknown-event']).toBe(1);
  });

  test('is refused for an Event of the same name in another namespace', async () => {
    await setUp();
    await post(startingEvent('a.1'));
    const path = '/apis/events.k8s.io/v1/namespaces/other/events/a.1';
    const answer = await send('PATCH', path, SERIES_PATCH, { 'content-type': PATCH_TYPE });
    expect(codeOf(answer)).toBe(403);
  });

  test('of more than the series is refused', async () => {
    await setUp();
    await post(startingEvent('a.1'));
    expect(codeOf(await patch('a.1', '{"metadata":{"labels":{"a":"b"}}}'))).toBe(403);
    expect(forwarder.counts.patch).toBe(1);
  });

  test('is refused after two hours without one, and for all but the last 64', async () => {
    await setUp();
    code = 201;
    for (let count = 0; count < 65; count++) {
      await post(startingEvent(`a.${count}`));
      now += 15_000;
    }
    expect(codeOf(await patch('a.0'))).toBe(403);
    expect(codeOf(await patch('a.1'))).toBe(201);
    now += 2 * 60 * 60_000;
    expect(codeOf(await patch('a.1'))).toBe(403);
  });
});

test('the first refusal of each rule is logged, and the others are counted and logged together', async () => {
  await setUp();
  for (let count = 0; count < 3; count++) await post('{');
  await post(startingEvent('a.1', { reportingController: 'x' }));
  refusals.close();
  expect(lines).toMatchObject([
    { level: 40, reason: 'Event/malformed', verb: 'POST', resource: START.path },
    { level: 40, reason: 'Event/reporter' },
    { level: 40, reason: 'Event/malformed', refused: 2 },
  ]);
  expect(lines[0]?.msg).toContain('an Event was not forwarded');
});

test('a refusal because of the setting is not a warning', async () => {
  await setUp({ enabled: false });
  await post(START.json);
  expect(lines).toMatchObject([{ level: 30, reason: 'Event/disabled' }]);
});
