import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { writeServingFiles } from '../../../harness/certificates.ts';
import type { RequestEnd } from '../../../src/client/api/request-end.ts';
import { Failover, type FailoverOptions } from '../../../src/client/upstream/failover.ts';
import { WrapperError } from '../../../src/errors.ts';
import { eventually } from '../../support/eventually.ts';
import { FakeCredentials } from '../../support/http/credentials.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { useFolder } from '../../support/use-folder.ts';

const [A, B, C] = ['https://a:6443', 'https://b:6443', 'https://c:6443'].map(
  (each) => new URL(each),
) as [URL, URL, URL];

/** Why a relay was left that refuses. */
const WHY = 'does not serve this node';

const silent = pino({ level: 'silent' });

let failover: Failover | undefined;

afterEach(() => {
  failover?.close();
  jest.useRealTimers();
  jest.restoreAllMocks();
});

function failoverOf(servers: URL[] = [B, C], options: Partial<FailoverOptions> = {}): Failover {
  failover = new Failover({
    credentials: new FakeCredentials(A),
    servers,
    returnMs: 10,
    tryServer: () => Promise.reject(new Error('no list')),
    onReturn: () => {},
    logger: silent,
    ...options,
  });
  return failover;
}

const hosts = (of: Failover) => of.servers.map(({ hostname }) => hostname).join('');

/** Reports outcomes in order, as `<server> <outcome>` or `<server> 5xx <times>`. */
function report(of: Failover, ...outcomes: readonly string[]): void {
  for (const each of outcomes) {
    const [host, outcome, times = '1'] = each.split(' ');
    const server = of.servers.find(({ hostname }) => hostname === host) as URL;
    const name = outcome === '5xx' ? 'serverError' : (outcome as RequestEnd);
    for (let n = 0; n < Number(times); n++) of.report(server, performance.now(), name);
  }
}

describe('the API server in use', () => {
  test.each<[rule: string, hosts: string, switches: number, outcomes: string[]]>([
    ['is the one of the kubeconfig at first', 'abc', 0, []],
    ['changes to the next when it is unreachable', 'bca', 1, ['a unreachable']],
    ['changes to the one after that', 'cab', 2, ['a unreachable', 'b unreachable']],
    [
      'changes to the first after the last',
      'abc',
      3,
      ['a unreachable', 'b unreachable', 'c unreachable'],
    ],
    ['changes once when many requests fail together', 'bca', 1, ['a unreachable 5']],
    ['does so too if it had answered', 'cab', 2, ['a unreachable', 'b answered', 'b unreachable']],
    ['stays when it refuses requests', 'abc', 0, ['a forbidden 9']],
    ['changes after three answers of something else', 'bca', 1, ['a foreign 3']],
    ['stays after 429', 'abc', 0, ['a overloaded 9']],
    ['stays after two 5xx', 'abc', 0, ['a answered', 'a 5xx 2', 'a answered', 'a 5xx 2']],
    ['changes after three 5xx in a row', 'bca', 1, ['a answered', 'a 5xx 3']],
    // Before it has its own Node kube-proxy sends no other request: the node never came up.
    ['changes after three 5xx when it has answered nothing yet', 'bca', 1, ['a 5xx 3']],
    ['does not count the 5xx of the server before', 'bca', 1, ['a 5xx 3', 'b 5xx 2']],
    [
      'goes on until one answers',
      'abc',
      3,
      ['a 5xx 3', 'b 5xx 3', 'c 5xx 3', 'a answered', 'a 5xx 2'],
    ],
  ])('%s', (_rule, expected, switches, outcomes) => {
    const of = failoverOf();
    let notified = 0;
    of.onTlsChange(() => notified++);
    report(of, ...outcomes);
    expect([hosts(of), of.switches, notified]).toEqual([expected, switches, switches]);
  });

  // It answered one list, and others with 5xx; watches end one at a time.
  test('changes after three 5xx when it is the preferred one again, and answers nothing', async () => {
    const of = failoverOf([B, C], { tryServer: async () => {} });
    report(of, 'a answered', 'a unreachable', 'b answered');
    await eventually(() => hosts(of), 'abc');
    report(of, 'a 5xx 3');
    expect(hosts(of)).toBe('bca');
  });

  test('is given up once for all that wait for it, and each of the others too', () => {
    const of = failoverOf();
    const since = performance.now();
    expect([of.leaveServer(since), of.leaveServer(since), hosts(of)]).toEqual([true, true, 'bca']);
    expect([of.leaveServer(performance.now()), hosts(of)]).toEqual([true, 'cab']);
    expect([of.leaveServer(performance.now()), hosts(of), of.switches]).toEqual([false, 'cab', 2]);
  });

  test('is not given up again and again when all of them fail', () => {
    const of = failoverOf();
    const since = performance.now();
    for (const server of [A, B, C, A]) of.report(server, performance.now(), 'unreachable');
    expect([of.leaveServer(since), hosts(of)]).toEqual([false, 'bca']);
  });

  test('does not change when there is no other', () => {
    const of = failoverOf([]);
    report(of, 'a unreachable');
    expect([hosts(of), of.switches]).toEqual(['a', 0]);
  });

  test('is the preferred one again after a list from it has arrived', async () => {
    const answers = [false, false, true].values();
    const asked: string[] = [];
    let returns = 0;
    const of = failoverOf([B, C], {
      tryServer: async ({ hostname }) => {
        asked.push(hostname);
        expect(hosts(of)).toBe('bca');
        if (answers.next().value !== true) throw new Error('no list');
      },
      onReturn: () => returns++,
    });
    of.report(A, performance.now(), 'unreachable');
    await eventually(() => hosts(of), 'abc');
    expect([asked, returns]).toEqual([['a', 'a', 'a'], 1]);
  });

  test('is another one before the last, if no list arrives from the first', async () => {
    const of = failoverOf([B, C], {
      tryServer: async (server) => {
        if (server === A) throw new Error('no list');
      },
    });
    report(of, 'a unreachable', 'b unreachable');
    await eventually(() => hosts(of), 'bca');
  });

  test('is tried again a minute after it was left, and within 75 s', async () => {
    jest.useFakeTimers();
    let asked = 0;
    const of = failoverOf([B, C], {
      returnMs: undefined,
      tryServer: async () => {
        asked++;
        throw new Error('no list');
      },
    });
    of.report(A, performance.now(), 'unreachable');
    await jest.advanceTimersByTimeAsync(59_999);
    expect(asked).toBe(0);
    await jest.advanceTimersByTimeAsync(15_002);
    expect(asked).toBe(1);
  });

  test('is tried again later each time that it is left soon after its return, and not once that has held', async () => {
    jest.useFakeTimers();
    jest.spyOn(Math, 'random').mockReturnValue(0);
    const of = failoverOf([B], { returnMs: 1_000, tryServer: async () => {} });
    const returns = async (): Promise<number> => {
      const since = performance.now();
      of.report(A, performance.now(), 'relayRefused');
      while (hosts(of) !== 'ab') await jest.advanceTimersByTimeAsync(1_000);
      return performance.now() - since;
    };
    const waits: number[] = [];
    for (let n = 0; n < 6; n++) waits.push(await returns());
    await jest.advanceTimersByTimeAsync(16_000);
    expect([...waits, await returns()]).toEqual([1, 2, 4, 8, 16, 16, 1].map((s) => s * 1_000));
  });

  test('is tried by one request at a time, and no more once it is in use or closed', async () => {
    jest.useFakeTimers();
    let asked = 0;
    let list = Promise.withResolvers<void>();
    const of = failoverOf([B, C], {
      tryServer: () => {
        asked++;
        list = Promise.withResolvers();
        return list.promise;
      },
    });
    for (const server of [A, B, C]) of.report(server, performance.now(), 'unreachable');
    expect([hosts(of), jest.getTimerCount()]).toEqual(['abc', 0]);
    for (const server of [A, B]) of.report(server, performance.now(), 'unreachable');
    await jest.advanceTimersByTimeAsync(100);
    expect(asked).toBe(1);
    list.reject(new Error('no list'));
    await jest.advanceTimersByTimeAsync(100);
    expect(asked).toBe(2);
    of.close();
    list.resolve();
    await jest.advanceTimersByTimeAsync(100);
    expect([hosts(of), asked, jest.getTimerCount()]).toEqual(['cab', 2, 0]);
  });

  // It was tried in place of itself, and no other server ever.
  test('is another one even if the settings list the server of the kubeconfig too', () => {
    const of = failoverOf([A, B]);
    expect(hosts(of)).toBe('ab');
    of.report(A, performance.now(), 'unreachable');
    expect(hosts(of)).toBe('ba');
  });

  test('is logged as a warning, but not repeatedly while none can be reached', () => {
    const { logger, lines } = recordingLogger();
    const of = failoverOf([B, C], { logger });
    const warnings = () => lines.filter(({ level }) => level >= 40).length;
    for (const server of [A, B, C, A, B]) of.report(server, performance.now(), 'unreachable');
    expect(warnings()).toBe(2);
    of.report(C, performance.now(), 'answered');
    of.report(C, performance.now(), 'unreachable');
    expect(warnings()).toBe(3);
  });

  test('is one that the kubeconfig names now, without the history of the old one', () => {
    const credentials = new FakeCredentials(A);
    const of = failoverOf([B], { credentials });
    let notified = 0;
    of.onTlsChange(() => notified++);
    of.report(A, performance.now(), 'answered');
    credentials.servers = [C];
    credentials.setTls({});
    expect([hosts(of), notified]).toEqual(['cb', 1]);
    of.report(C, performance.now(), 'unreachable');
    expect(hosts(of)).toBe('bc');
  });

  test('does not change when the credentials change, but not the servers', () => {
    const credentials = new FakeCredentials(A);
    const of = failoverOf([B], { credentials });
    of.report(A, performance.now(), 'unreachable');
    credentials.setTls({});
    expect(hosts(of)).toBe('ba');
  });

  // The start ended with an error about the server of the kubeconfig, as if it were one of `servers`.
  test('may be a relay over https before a cache on this machine over plain http', async () => {
    const { caFile } = await writeServingFiles(useFolder());
    const cache = new URL('http://127.0.0.1:8080');
    const relays = { servers: [new URL('https://10.96.0.50')], caFile };
    const of = failoverOf([], { credentials: new FakeCredentials(cache), relays });
    expect(of.servers.map(({ href }) => href)).toEqual(['https://10.96.0.50/', cache.href]);
    expect([...of.servers, cache].map((server) => of.isRelay(server))).toEqual([
      true,
      false,
      false,
    ]);
    // Only a relay is left because it brings nothing: an API server may be slow.
    for (const expected of [cache.hostname, cache.hostname]) {
      of.leaveRelay(performance.now());
      expect(of.servers[0].hostname).toBe(expected);
    }
    expect(() => failoverOf([B], { credentials: new FakeCredentials(cache), relays })).toThrow(
      'servers: https://b:6443 must use http, as the server of the kubeconfig does',
    );
    expect(() => failoverOf([cache], { relays })).toThrow(
      'servers: http://127.0.0.1:8080 must use',
    );
  });

  // The log called it an API server that is unreachable, and answers again at the same moment.
  test('is logged as a relay if it is one, with the cause', async () => {
    const { caFile } = await writeServingFiles(useFolder());
    const { logger, lines } = recordingLogger();
    const relays = { servers: [C, new URL('https://d:1')], caFile };
    const of = failoverOf([], { logger, relays, returnMs: 10, tryServer: async () => {} });
    of.report(C, performance.now(), 'unreachable', 'ECONNREFUSED');
    of.report(of.servers[0], performance.now(), 'relayRefused', 'HTTP 503');
    of.report(A, performance.now(), 'unreachable');
    of.report(C, performance.now(), 'answered');
    of.report(C, performance.now(), 'unreachable');
    await eventually(() => hosts(of), 'cda');
    expect(lines.map(({ msg, from, to, why, err }) => [msg, from, to, why, err])).toEqual([
      ['another relay is used', 'relay c:6443', 'relay d:1', 'does not answer', 'ECONNREFUSED'],
      ['an API server is used instead of a relay', 'relay d:1', 'a:6443', WHY, 'HTTP 503'],
      [
        'a relay is tried instead of an API server',
        'a:6443',
        'relay c:6443',
        'does not answer',
        undefined,
      ],
      ['another relay is used', 'relay c:6443', 'relay d:1', 'does not answer', undefined],
      ['a relay is used again', undefined, undefined, undefined, undefined],
    ]);
  });

  test('that cannot be used for another cause than before tells it once, also to status', async () => {
    const { caFile } = await writeServingFiles(useFolder());
    const { logger, lines } = recordingLogger();
    const causes = ['ECONNREFUSED', 'CERT_HAS_EXPIRED', 'CERT_HAS_EXPIRED'];
    const renewed = Promise.withResolvers<void>();
    const tryServer = async () => {
      const cause = causes.shift();
      if (cause !== undefined) throw new Error(cause);
      await renewed.promise;
    };
    const of = failoverOf([], {
      logger,
      relays: { servers: [C], caFile },
      returnMs: 10,
      tryServer,
    });
    expect(of.relayFailure).toBeUndefined();
    of.report(C, performance.now(), 'unreachable', 'ECONNREFUSED');
    expect(of.relayFailure).toBe('ECONNREFUSED');
    await eventually(() => of.relayFailure, 'CERT_HAS_EXPIRED');
    renewed.resolve();
    await eventually(() => hosts(of), 'ca');
    expect(lines.map(({ msg, err }) => [msg, err])).toEqual([
      ['an API server is used instead of a relay', 'ECONNREFUSED'],
      ['an API server is still used instead of a relay', 'CERT_HAS_EXPIRED'],
      ['a relay is used again', undefined],
    ]);
    expect(of.relayFailure).toBeUndefined();
  });

  const refused = (message: string) =>
    new WrapperError('Refused', 'refused', { status: { code: 503, reason: '', message } });

  // A relay that has lost its power, while the next one serves: "an API server is still used", on each node.
  test.each([
    ['no connection', new WrapperError('Unreachable', 'x', { cause: new Error('no connection') })],
    ['HTTP 503', refused('it receives no changes')],
  ])(
    'is not logged again for the cause of the switch (%s), and the log says what is used',
    async (err, failure) => {
      const { caFile } = await writeServingFiles(useFolder());
      const { logger, lines } = recordingLogger();
      const failures = [failure, failure, refused('it is full'), refused('it is full')];
      const tryServer = async () => {
        throw failures.shift() ?? refused('it is full');
      };
      const relays = { servers: [C, new URL('https://d:1')], caFile };
      const of = failoverOf([], { logger, relays, returnMs: 5, tryServer });
      of.report(C, performance.now(), 'unreachable', err);
      await eventually(() => failures.length, 0);
      expect(lines.slice(0, 2).map(({ msg, err }) => [msg, err])).toEqual([
        ['another relay is used', err],
        ['another relay is still used', 'HTTP 503: it is full'],
      ]);
      expect(of.relayFailure).toBe('HTTP 503: it is full');
    },
  );

  test('is logged once for each of several relays that fail for ever', async () => {
    const { caFile } = await writeServingFiles(useFolder());
    const { logger, lines } = recordingLogger();
    const tried: string[] = [];
    const tryServer = async ({ host }: URL) => {
      tried.push(host);
      throw new Error(`no ${host}`);
    };
    const relays = { servers: [C, new URL('https://d:1')], caFile };
    const of = failoverOf([], { logger, relays, returnMs: 5, tryServer });
    for (const server of relays.servers)
      of.report(server, performance.now(), 'unreachable', 'gone');
    await eventually(() => tried.length >= 10, true);
    expect(lines.slice(2).map(({ err }) => err)).toEqual(['no c:6443', 'no d:1']);
    expect(of.relayFailure).toBe('no c:6443');
  });

  test('is no relay while the file of their authority is missing or broken, and is one later', async () => {
    const { caFile } = await writeServingFiles(useFolder());
    const file = join(useFolder(), 'ca.crt');
    const { logger, lines } = recordingLogger();
    const relays = { servers: [C], caFile: file };
    const of = failoverOf([], { logger, relays, tryServer: async () => {} });
    expect([hosts(of), of.hasRelays]).toEqual(['a', true]);
    const logged = () => lines.map(({ msg, err }) => `${msg} ${err ?? ''}`);
    await eventually(() => logged().length, 1);
    expect([logged()[0], of.relayProblem]).toEqual([
      expect.stringMatching(/^no relay is used: .* ENOENT/),
      expect.stringContaining('ENOENT'),
    ]);
    for (const content of ['', readFileSync(caFile).subarray(0, 200)]) {
      writeFileSync(file, content);
      await eventually(() => of.relayProblem?.includes('ENOENT'), false);
    }
    copyFileSync(caFile, file);
    await eventually(() => hosts(of), 'ca');
    const trust = { allowPartialTrustChain: true };
    expect(of.tls(of.servers[0])).toEqual({ ca: readFileSync(caFile), ...trust });
    expect(of.relayProblem).toBeUndefined();
    // Without an authority no certificate is valid, not even those of well-known authorities.
    const [relay] = of.servers;
    writeFileSync(file, 'nothing');
    await eventually(() => hosts(of), 'a');
    expect(of.tls(relay)).toEqual({ ca: [], ...trust });
  });

  test('never has another scheme, because plain http would expose the credentials', () => {
    expect(() => failoverOf([new URL('http://b:8080')])).toThrow(
      expect.objectContaining({
        code: 'InvalidSettings',
        message: expect.stringContaining('http://b'),
      }),
    );
    const credentials = new FakeCredentials(A);
    const of = failoverOf([B], { credentials });
    credentials.servers = [new URL('http://c:8080')];
    credentials.setTls({});
    expect(hosts(of)).toBe('c');
  });
});
