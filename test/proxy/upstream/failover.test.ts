import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { Failover } from '../../../src/proxy/upstream/failover.ts';
import { eventually } from '../../support/eventually.ts';
import { FakeCredentials } from '../../support/http/credentials.ts';
import { recordingLogger } from '../../support/wrapper/wrapper-fixture.ts';

const [A, B, C] = ['https://a:6443', 'https://b:6443', 'https://c:6443'].map(
  (each) => new URL(each),
) as [URL, URL, URL];

const silent = pino({ level: 'silent' });

let failover: Failover | undefined;

afterEach(() => {
  failover?.close();
  jest.useRealTimers();
});

function failoverOf(servers: URL[] = [B, C], returnMs = 10, logger = silent): Failover {
  failover = new Failover({ credentials: new FakeCredentials(A), servers, returnMs, logger });
  return failover;
}

const hosts = (of: Failover) => of.servers.map(({ hostname }) => hostname).join('');

describe('the API server in use', () => {
  test('is that of the kubeconfig first', () => {
    expect(hosts(failoverOf())).toBe('abc');
  });

  test('is the next, at once, when it cannot be reached, and the first again after the last', () => {
    const of = failoverOf();
    let told = 0;
    of.onTlsChange(() => told++);
    of.report(A, 'unreachable');
    expect(hosts(of)).toBe('bca');
    of.report(B, 'unreachable');
    expect(hosts(of)).toBe('cab');
    of.report(C, 'unreachable');
    expect(hosts(of)).toBe('abc');
    expect([told, of.switches]).toEqual([3, 3]);
  });

  test('is changed once by many requests that fail together', () => {
    const of = failoverOf();
    for (let n = 0; n < 5; n++) of.report(A, 'unreachable');
    expect(hosts(of)).toBe('bca');
  });

  test('is changed by three 5xx in a row, not by fewer', () => {
    const of = failoverOf();
    of.report(A, 'answered', '/api/v1/nodes');
    const paths = ['/api/v1/nodes', '/api/v1/services'];
    for (const outcome of ['broken', 'broken', 'answered', 'broken', 'broken'] as const) {
      of.report(A, outcome, paths.reverse()[0]);
    }
    expect(hosts(of)).toBe('abc');
    of.report(A, 'broken', '/api/v1/services');
    expect(hosts(of)).toBe('bca');
  });

  // A resource whose conversion webhook was away made all questions change servers, again and again.
  test('is not changed by one path that is answered with 5xx, while none is otherwise', () => {
    const of = failoverOf();
    of.report(A, 'answered', '/api/v1/nodes');
    for (let n = 0; n < 10; n++) of.report(A, 'broken', '/apis/x/v1/communities');
    expect([hosts(of), of.switches]).toEqual(['abc', 0]);
    of.report(A, 'answered', '/api/v1/nodes');
    for (let n = 0; n < 3; n++) of.report(A, 'broken', '/api/v1/nodes');
    expect(hosts(of)).toBe('abc');
    of.report(A, 'broken', '/api/v1/services');
    expect(hosts(of)).toBe('bca');
  });

  // Before it has its own Node kube-proxy asks for nothing else: the node never came up.
  test('is changed by one path that is answered with 5xx when it has answered nothing yet', () => {
    const of = failoverOf();
    const fail = (server: URL, times: number) => {
      for (let n = 0; n < times; n++) of.report(server, 'broken', '/api/v1/nodes');
    };
    fail(A, 2);
    expect(hosts(of)).toBe('abc');
    fail(A, 1);
    expect(hosts(of)).toBe('bca');
    // What the one before did does not count against it.
    fail(B, 2);
    expect(hosts(of)).toBe('bca');
    fail(B, 1);
    fail(C, 3);
    // And so on, until one answers.
    expect([hosts(of), of.switches]).toEqual(['abc', 3]);
    of.report(A, 'answered', '/api/v1/nodes');
    fail(A, 10);
    expect([hosts(of), of.switches]).toEqual(['abc', 3]);
  });

  // It answered GET /version, and lists with 5xx; watches end one at a time.
  test('is changed by one path when it is the preferred one again, and answers nothing', async () => {
    const of = failoverOf();
    of.probe = async () => 200;
    of.report(A, 'answered', '/api/v1/nodes');
    of.report(A, 'unreachable', '/api/v1/nodes');
    of.report(B, 'answered', '/api/v1/nodes');
    await eventually(() => hosts(of), 'abc');
    for (let n = 0; n < 3; n++) of.report(A, 'broken', '/api/v1/nodes');
    expect(hosts(of)).toBe('bca');
  });

  // One collection that hung made all questions change servers, again and again.
  test('is changed by one path that it is silent to only when it has answered nothing yet', () => {
    const of = failoverOf();
    of.report(A, 'silent', '/api/v1/nodes');
    expect(hosts(of)).toBe('bca');
    of.report(B, 'answered', '/api/v1/nodes');
    for (let n = 0; n < 10; n++) of.report(B, 'silent', '/apis/x/v1/communities');
    expect([hosts(of), of.switches]).toEqual(['bca', 1]);
    of.report(B, 'silent', '/api/v1/nodes');
    expect(hosts(of)).toBe('cab');
  });

  test('is one that was found to answer, whichever', () => {
    const of = failoverOf();
    of.take(C);
    expect(hosts(of)).toBe('cab');
    of.take(C);
    of.take(new URL('https://stranger:6443'));
    expect([hosts(of), of.switches]).toEqual(['cab', 1]);
  });

  test('stays when there is no other', () => {
    const of = failoverOf([]);
    of.report(A, 'unreachable');
    expect([hosts(of), of.switches]).toEqual(['a', 0]);
  });

  test('is the preferred one again after it has answered twice in a row', async () => {
    const of = failoverOf();
    const answers = [undefined, 200, 503, 200, 403];
    const asked: string[] = [];
    of.probe = async ({ hostname }) => {
      asked.push(hostname);
      expect(hosts(of)).toBe('bca');
      return answers.shift();
    };
    of.report(A, 'unreachable');
    await eventually(() => hosts(of), 'abc');
    expect(asked).toEqual(['a', 'a', 'a', 'a', 'a']);
  });

  test('is asked for once at a time, and no more once it is in use or all is closed', async () => {
    jest.useFakeTimers();
    const of = failoverOf();
    let asked = 0;
    let answer = (_statusCode: number): void => {};
    of.probe = () => {
      asked++;
      return new Promise((resolve) => {
        answer = resolve;
      });
    };
    for (const server of [A, B, C]) of.report(server, 'unreachable');
    expect([hosts(of), jest.getTimerCount()]).toEqual(['abc', 0]);
    for (const server of [A, B]) of.report(server, 'unreachable');
    await jest.advanceTimersByTimeAsync(10);
    expect(asked).toBe(1);
    answer(200);
    await jest.advanceTimersByTimeAsync(10);
    expect(asked).toBe(2);
    of.close();
    answer(200);
    await jest.advanceTimersByTimeAsync(100);
    expect([hosts(of), asked, jest.getTimerCount()]).toEqual(['cab', 2, 0]);
  });

  test('is not tried again once all is closed', () => {
    jest.useFakeTimers();
    const of = failoverOf();
    of.report(A, 'unreachable');
    expect(jest.getTimerCount()).toBe(1);
    of.close();
    expect(jest.getTimerCount()).toBe(0);
  });

  // It was tried in place of itself, and no other ever.
  test('is another one, though the settings name that of the kubeconfig too', () => {
    const of = failoverOf([A, B]);
    expect(hosts(of)).toBe('ab');
    of.report(A, 'unreachable');
    expect(hosts(of)).toBe('ba');
  });

  test('is told aloud, but not again and again while none can be reached', () => {
    const { logger, lines } = recordingLogger();
    const of = failoverOf([B, C], 10, logger);
    const aloud = () => lines.filter(({ level }) => level >= 40).length;
    for (const server of [A, B, C, A, B]) of.report(server, 'unreachable');
    expect(aloud()).toBe(2);
    of.report(C, 'answered');
    of.report(C, 'unreachable');
    expect(aloud()).toBe(3);
  });

  test('is one of those that the kubeconfig names now, of which nothing is known', () => {
    const credentials = new FakeCredentials(A);
    const of = new Failover({ credentials, servers: [B], logger: pino({ level: 'silent' }) });
    failover = of;
    let told = 0;
    of.onTlsChange(() => told++);
    of.report(A, 'answered');
    credentials.servers = [C];
    credentials.setTls({});
    expect([hosts(of), told]).toEqual(['cb', 1]);
    of.report(C, 'silent');
    expect(hosts(of)).toBe('bc');
  });

  test('stays when the credentials change, but not the servers', () => {
    const credentials = new FakeCredentials(A);
    failover = new Failover({ credentials, servers: [B], logger: pino({ level: 'silent' }) });
    failover.report(A, 'unreachable');
    credentials.setTls({});
    expect(hosts(failover)).toBe('ba');
  });

  test('is never one of another scheme: over plain http no credentials may go', () => {
    expect(() => failoverOf([new URL('http://b:8080')])).toThrow(
      expect.objectContaining({
        code: 'InvalidSettings',
        message: expect.stringContaining('http://b'),
      }),
    );
    const credentials = new FakeCredentials(A);
    failover = new Failover({ credentials, servers: [B], logger: pino({ level: 'silent' }) });
    credentials.servers = [new URL('http://c:8080')];
    credentials.setTls({});
    expect(hosts(failover)).toBe('c');
  });
});
