import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { EVENTS, kubeProxyEvent } from './support/events.ts';
import { type FakeScene, startFakeScene } from './support/fake-scene.ts';
import { FRAMINGS } from './support/framings.ts';
import { send } from './support/http.ts';
import { report } from './support/report.ts';
import { endsWithin, hold } from './support/sockets.ts';

jest.setTimeout(120_000);

let scene: FakeScene;

beforeAll(async () => {
  scene = await startFakeScene();
});

afterAll(async () => {
  await scene?.stop();
});

beforeEach(() => {
  scene.forget();
});

/** Headers that mean something to some server or front proxy, and nothing that a client of Kubernetes sends. */
const UNUSUAL = [
  'audit-id',
  'via',
  'traceparent',
  'tracestate',
  'baggage',
  'remote-user',
  'remote-groups',
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
  'x-original-uri',
  'x-original-host',
  'x-host',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-client-cert',
  'forwarded',
  'x-real-ip',
  'x-remote-user',
  'x-remote-group',
  'x-remote-extra-scopes',
  'x-remote-uid',
  'client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-request-id',
  'x-b3-traceid',
  'x-cloud-trace-context',
  'uber-trace-id',
  'ssl-client-cert',
  'x-ssl-cert',
  'x-auth-request-user',
  'x-user',
  'x-envoy-original-path',
  'x-accel-redirect',
  'x-sendfile',
  'proxy',
  'referer',
  'from',
  'x-scheme',
  'x-csrf-token',
  'x-forwarded-port',
  'x-made-up',
] as const;

/** What a client of Kubernetes needs to be heard, and what a proxy sets itself. */
const NEEDED =
  /^(accept|accept-encoding|authorization|connection|content-length|content-type|host|transfer-encoding|user-agent)$/;

describe('F12: headers that reach the API server', () => {
  test('over https are those of the allow-list', async () => {
    const { wrapper } = scene;
    const headers = Object.fromEntries(UNUSUAL.map((name) => [name, 'evil']));
    const requests: [string, string, string | undefined][] = [
      ['GET', '/version', undefined],
      ['GET', '/api/v1/namespaces/default/configmaps', undefined],
      ['POST', EVENTS, kubeProxyEvent('edge-1')],
    ];
    for (const [method, path, body] of requests) {
      await send(wrapper.httpsUrl + path, {
        method,
        headers: { ...headers, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body }),
        ca: wrapper.ca(),
        token: 'caller',
      });
    }
    const arrived = new Set(scene.headersThatReached());
    const unusual = [...arrived].filter((name) => !NEEDED.test(name)).sort();
    report(
      'F12',
      `of ${UNUSUAL.length} unusual headers ${unusual.length} reach the API server: ${unusual.join(' ') || 'none'}`,
    );
    expect(scene.reached()).toHaveLength(requests.length);
    expect(unusual).toEqual([]);
  });
});

describe('F13: after a framing that is refused', () => {
  const SECOND = 'GET /api/v1/services HTTP/1.1\r\nHost: 127.0.0.1\r\n';

  test.each(['http', 'https', 'admin'] as const)(
    'nothing more is answered, and the connection ends within 2 s (%s)',
    async (listener) => {
      const { wrapper } = scene;
      const port = { http: wrapper.port, https: wrapper.httpsPort, admin: wrapper.adminPort }[
        listener
      ];
      const token = listener === 'https' ? 'Authorization: Bearer caller\r\n' : '';
      const second = `${listener === 'admin' ? SECOND.replace('/api/v1/services', '/healthz') : SECOND}${token}\r\n`;
      const faults = new Map<string, string>();
      let slowest = 0;
      for (const [name, make] of FRAMINGS) {
        const held = hold(port, {
          ...(listener === 'https' ? { ca: wrapper.ca() } : {}),
        });
        const start = performance.now();
        held.socket.write(make(token), 'latin1');
        await sleep(30);
        if (held.socket.writable) held.socket.write(second, 'latin1');
        const ended = await endsWithin(held, 2_000);
        slowest = Math.max(slowest, Math.round(performance.now() - start));
        held.socket.destroy();
        const codes = [...held.received().matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, code]) => code);
        if (!ended) faults.set(name, `open after 2 s (${codes})`);
        if (codes.length > 1) faults.set(name, `answers ${codes}`);
        if (codes.length > 0 && !/^[45]/.test(codes[0] ?? '')) faults.set(name, `${codes}`);
      }
      report(
        'F13',
        `${listener}: ${FRAMINGS.length} framings, ${faults.size} go on; slowest end after ${slowest} ms`,
      );
      expect(FRAMINGS.length).toBeGreaterThanOrEqual(23);
      expect([...faults]).toEqual([]);
      expect(scene.reached()).toEqual([]);
    },
  );
});
