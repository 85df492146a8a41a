import { beforeAll, expect, jest, test } from '@jest/globals';
import { raw } from '../support/http/http-client.ts';
import { HEADER_ROWS } from '../support/probes/probe-headers.ts';
import { PATH_ROWS } from '../support/probes/probe-paths.ts';
import { type HttpsWrapper, useHttps } from '../support/wrapper/https-wrapper.ts';

/** An answer that ends, or a connection that does, is waited for so long, in milliseconds. */
const ANSWER_MS = 20_000;

let wrapper: HttpsWrapper;

jest.setTimeout(120_000);

beforeAll(async () => {
  wrapper = await useHttps();
});

/** The first status of the answer, or `end`, or `nothing`. */
async function statusOf(scheme: 'http' | 'https', bytes: (lines: string) => string) {
  const { proxy, ca } = wrapper;
  const isTls = scheme === 'https';
  const lines = isTls ? 'Authorization: Bearer caller\r\n' : '';
  const url = (isTls ? proxy.httpsUrl : proxy.url) ?? '';
  const { socket, received, closed } = raw(url, bytes(lines), { ca });
  const late = setTimeout(() => socket.destroy(new Error('no answer')), ANSWER_MS);
  await closed;
  clearTimeout(late);
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(received()) ?? [];
  return status ?? (socket.errored === null ? 'end' : 'nothing');
}

/** Whether a status is one of `200`, `4xx`, `400|403`. */
function matches(status: string, expected: string): boolean {
  return new RegExp(`^(${expected.replaceAll('xx', '\\d\\d')})$`).test(status);
}

test.each(['http', 'https'] as const)(
  'each probe over %s gets the answer of the table',
  async (scheme) => {
    const wrong: string[] = [];
    for (const row of [...PATH_ROWS, ...HEADER_ROWS]) {
      const expected = row[scheme];
      if (expected === undefined) continue;
      const [statuses = '', reaches] = expected.split(' ');
      wrapper.api.passed.length = 0;
      const status = await statusOf(scheme, row.bytes);
      const reached = wrapper.api.passed.map(({ method, url }) => `${method} ${url}`);
      if (matches(status, statuses) && reached.length > 0 === (reaches === '+')) continue;
      const where = reached.join(', ') || 'nothing';
      wrong.push(`${row.name}: ${status}, expected ${expected}; reached the API server: ${where}`);
    }
    expect(wrong).toEqual([]);
  },
);
