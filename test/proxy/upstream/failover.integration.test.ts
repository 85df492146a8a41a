import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { Failover } from '../../../src/proxy/upstream/failover.ts';
import type { Judgement } from '../../../src/proxy/upstream/judge-response.ts';
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

/** Reports outcomes of requests to one server. */
const reports = (of: Failover, server: URL) => ({
  answered: () => of.report(server, 'answered'),
  serverError: (times: number) => {
    for (let n = 0; n < times; n++) of.report(server, 'serverError');
  },
});

const hosts = (of: Failover) => of.servers.map(({ hostname }) => hostname).join('');

describe('the API server in use', () => {
  test('is the one of the kubeconfig at first', () => {
    expect(hosts(failoverOf())).toBe('abc');
  });

  test('changes immediately to the next when it cannot be reached, and to the first after the last', () => {
    const of = failoverOf();
    let notified = 0;
    of.onTlsChange(() => notified++);
    of.report(A, 'unreachable');
    expect(hosts(of)).toBe('bca');
    of.report(B, 'unreachable');
    expect(hosts(of)).toBe('cab');
    of.report(C, 'unreachable');
    expect(hosts(of)).toBe('abc');
    expect([notified, of.switches]).toEqual([3, 3]);
  });

  test('changes once when many requests fail together', () => {
    const of = failoverOf();
    for (let n = 0; n < 5; n++) of.report(A, 'unreachable');
    expect(hosts(of)).toBe('bca');
  });

  test('changes after three 5xx in a row, not after fewer', () => {
    const of = failoverOf();
    const { answered, serverError } = reports(of, A);
    answered();
    serverError(2);
    answered();
    serverError(2);
    expect(hosts(of)).toBe('abc');
    serverError(1);
    expect(hosts(of)).toBe('bca');
  });

  // A resource whose conversion webhook was away fails at all servers: as long as others are answered in between,
  // one that fails does not change the server.
  test('does not change while other requests are answered between those with 5xx', () => {
    const of = failoverOf();
    const { answered, serverError } = reports(of, A);
    for (let n = 0; n < 10; n++) {
      serverError(2);
      answered();
    }
    expect([hosts(of), of.switches]).toEqual(['abc', 0]);
  });

  // Before it has its own Node kube-proxy sends no other request: the node never came up.
  test('changes after three 5xx when it has answered nothing yet, and so on until one answers', () => {
    const of = failoverOf();
    reports(of, A).serverError(2);
    expect(hosts(of)).toBe('abc');
    reports(of, A).serverError(1);
    expect(hosts(of)).toBe('bca');
    // The 5xx of the server before do not count.
    reports(of, B).serverError(2);
    expect(hosts(of)).toBe('bca');
    reports(of, B).serverError(1);
    reports(of, C).serverError(3);
    expect([hosts(of), of.switches]).toEqual(['abc', 3]);
    reports(of, A).answered();
    reports(of, A).serverError(2);
    expect([hosts(of), of.switches]).toEqual(['abc', 3]);
  });

  // It answered health checks, and lists with 5xx; watches end one at a time.
  test('changes after three 5xx when it is the preferred one again, and answers nothing', async () => {
    const of = failoverOf();
    of.probe = async () => 'usable';
    reports(of, A).answered();
    of.report(A, 'unreachable');
    reports(of, B).answered();
    await eventually(() => hosts(of), 'abc');
    reports(of, A).serverError(3);
    expect(hosts(of)).toBe('bca');
  });

  test('changes after one request without a response in time, because that takes long enough', () => {
    const of = failoverOf();
    of.report(A, 'silent');
    expect(hosts(of)).toBe('bca');
    of.report(B, 'answered');
    of.report(B, 'silent');
    expect([hosts(of), of.switches]).toEqual(['cab', 2]);
  });

  test('is any server of the list that was found to answer', () => {
    const of = failoverOf();
    of.take(C);
    expect(hosts(of)).toBe('cab');
    of.take(C);
    of.take(new URL('https://stranger:6443'));
    expect([hosts(of), of.switches]).toEqual(['cab', 1]);
  });

  test('does not change when there is no other', () => {
    const of = failoverOf([]);
    of.report(A, 'unreachable');
    expect([hosts(of), of.switches]).toEqual(['a', 0]);
  });

  test('is the preferred one again after it has answered twice in a row', async () => {
    const of = failoverOf();
    const answers = [undefined, 'usable', 'failing', 'usable', 'usable'] as const;
    const next = answers.values();
    const asked: string[] = [];
    of.probe = async ({ hostname }) => {
      asked.push(hostname);
      expect(hosts(of)).toBe('bca');
      return next.next().value;
    };
    of.report(A, 'unreachable');
    await eventually(() => hosts(of), 'abc');
    expect(asked).toEqual(['a', 'a', 'a', 'a', 'a']);
  });

  test('is checked by one request at a time, and no more once it is in use or closed', async () => {
    jest.useFakeTimers();
    const of = failoverOf();
    let asked = 0;
    let answer = (_judgement: Judgement): void => {};
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
    answer('usable');
    await jest.advanceTimersByTimeAsync(10);
    expect(asked).toBe(2);
    of.close();
    answer('usable');
    await jest.advanceTimersByTimeAsync(100);
    expect([hosts(of), asked, jest.getTimerCount()]).toEqual(['cab', 2, 0]);
  });

  test('is not checked again after close', () => {
    jest.useFakeTimers();
    const of = failoverOf();
    of.report(A, 'unreachable');
    expect(jest.getTimerCount()).toBe(1);
    of.close();
    expect(jest.getTimerCount()).toBe(0);
  });

  // It was tried in place of itself, and no other server ever.
  test('is another one even if the settings list the server of the kubeconfig too', () => {
    const of = failoverOf([A, B]);
    expect(hosts(of)).toBe('ab');
    of.report(A, 'unreachable');
    expect(hosts(of)).toBe('ba');
  });

  test('is logged as a warning, but not repeatedly while none can be reached', () => {
    const { logger, lines } = recordingLogger();
    const of = failoverOf([B, C], 10, logger);
    const warnings = () => lines.filter(({ level }) => level >= 40).length;
    for (const server of [A, B, C, A, B]) of.report(server, 'unreachable');
    expect(warnings()).toBe(2);
    of.report(C, 'answered');
    of.report(C, 'unreachable');
    expect(warnings()).toBe(3);
  });

  test('is one that the kubeconfig names now, without the history of the old one', () => {
    const credentials = new FakeCredentials(A);
    const of = new Failover({ credentials, servers: [B], logger: pino({ level: 'silent' }) });
    failover = of;
    let notified = 0;
    of.onTlsChange(() => notified++);
    of.report(A, 'answered');
    credentials.servers = [C];
    credentials.setTls({});
    expect([hosts(of), notified]).toEqual(['cb', 1]);
    of.report(C, 'silent');
    expect(hosts(of)).toBe('bc');
  });

  test('does not change when the credentials change, but not the servers', () => {
    const credentials = new FakeCredentials(A);
    failover = new Failover({ credentials, servers: [B], logger: pino({ level: 'silent' }) });
    failover.report(A, 'unreachable');
    credentials.setTls({});
    expect(hosts(failover)).toBe('ba');
  });

  test('never has another scheme, because plain http would expose the credentials', () => {
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
