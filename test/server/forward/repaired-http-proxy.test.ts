import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, open, raw } from '../../support/http/http-client.ts';
import { type PassthroughHarness, startPassthrough } from '../../support/http/passthrough.ts';

/*
 * http-proxy 1.18.1 is no longer maintained. Each test here tells of one of its faults, and fails when the
 * repair of it is taken out of src/server/forward/repaired-http-proxy.ts.
 */

let harness: PassthroughHarness;

type Options = Parameters<typeof startPassthrough>[1];

async function setUp(listener: RequestListener, options?: Options): Promise<PassthroughHarness> {
  harness = closedLater(await startPassthrough(listener, options));
  return harness;
}

const GET = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

test.each([
  '/a//b',
  '//a/b',
  '/proxy/http://x//y',
  '/a?x=http://y//z',
  '/a\\b',
  '/a%2Fb/../c',
  '/a?',
])(
  'the path %s is sent byte for byte (it was rewritten after the allow-list had seen it)',
  async (path) => {
    const seen: (string | undefined)[] = [];
    const note = ({ url }: IncomingMessage, answer: ServerResponse): void => {
      seen.push(url);
      answer.end();
    };
    const { front } = await setUp(note, { prefix: '/p' });
    await raw(front.url, GET.replace('/', path)).closed;
    expect(seen).toEqual([`/p${path}`]);
  },
);

describe('an abort', () => {
  test('of the client before the headers ends the request to the upstream (it leaked)', async () => {
    const { front, back } = await setUp(() => {});
    const { socket } = raw(front.url, GET);
    await eventually(() => back.connections.size === 1, true);
    socket.destroy();
    await back.idle();
  });

  test.each([
    ['chunks', {}],
    ['known length', { 'content-length': 10 }],
  ])('of the upstream midway ends a response of %s (it hung)', async (_, headers) => {
    const { front } = await setUp((_request, response) => {
      response.writeHead(200, headers);
      response.write('half', () => setImmediate(() => response.destroy()));
    });
    await expect(ask(front.url)).rejects.toThrow('aborted');
  });
});

test('a response that cannot be forwarded is reported, and ends the request to the upstream', async () => {
  const { front, back, errors } = await setUp((_request, response) => {
    response.socket?.write('HTTP/1.1 099 x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n');
  });
  await ask(front.url);
  expect(errors).toHaveLength(1);
  await back.idle();
});

test('the headers of a stream that is still silent reach the client (they waited for the first byte)', async () => {
  const { front } = await setUp((_request, response) => response.flushHeaders());
  const response = await open(front.url);
  expect(response.statusCode).toBe(200);
  response.destroy();
});
