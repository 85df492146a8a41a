import { beforeAll, expect, jest, test } from '@jest/globals';
import { raw } from '../support/http/http-client.ts';
import { HEADER_ROWS } from '../support/probes/probe-headers.ts';
import { PATH_ROWS } from '../support/probes/probe-paths.ts';
import { type ReviewedRelay, useReviewedRelay } from '../support/relay/relay-fixture.ts';
import { type HttpsWrapper, useHttps } from '../support/wrapper/https-wrapper.ts';

/** An answer that ends, or a connection that does, is waited for so long, in milliseconds. */
const ANSWER_MS = 20_000;

let wrapper: HttpsWrapper;
let behind: ReviewedRelay;

jest.setTimeout(120_000);

beforeAll(async () => {
  wrapper = await useHttps();
  behind = await useReviewedRelay();
});

/** The first status of the answer, or `end`, or `nothing`. */
async function statusOf(url: string, ca: string, bytes: (lines: string) => string) {
  const lines = url.startsWith('https:') ? 'Authorization: Bearer caller\r\n' : '';
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
      const { proxy, ca } = wrapper;
      const url = scheme === 'https' ? proxy.httpsUrl : proxy.url;
      const status = await statusOf(url ?? '', ca, row.bytes);
      const reached = wrapper.api.passed.map(({ method, url }) => `${method} ${url}`);
      if (matches(status, statuses) && reached.length > 0 === (reaches === '+')) continue;
      const where = reached.join(', ') || 'nothing';
      wrong.push(`${row.name}: ${status}, expected ${expected}; reached the API server: ${where}`);
    }
    expect(wrong).toEqual([]);
  },
);

/** A list as wrappers send it, which a relay answers. */
const KNOWN = 'GET /api/v1/services?resourceVersion=0 ';

test('a relay gives each probe the answer of https at most, and forwards nothing', async () => {
  const { api, relay, ca } = behind;
  const wrong: string[] = [];
  for (const row of [...PATH_ROWS, ...HEADER_ROWS]) {
    if (row.https === undefined) continue;
    const isHeader = HEADER_ROWS.includes(row);
    const [expected = ''] = isHeader ? row.https.split(' ') : ['4xx|503|end'];
    const bytes = (lines: string) => row.bytes(lines).replace('GET /api/v1/services ', KNOWN);
    const status = await statusOf(relay.url, ca, isHeader ? bytes : row.bytes);
    if (!matches(status, expected)) wrong.push(`${row.name}: ${status}, expected ${expected}`);
  }
  expect(wrong).toEqual([]);
  expect(api.passed).toEqual([]);
});
