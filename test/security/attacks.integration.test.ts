import { beforeAll, expect, jest, test } from '@jest/globals';
import type { Admin } from '../../src/admin/admin.ts';
import type { Attack } from '../support/attacks/attack.ts';
import { ACCEPT_ATTACKS, HEADER_ATTACKS } from '../support/attacks/attack-headers.ts';
import { PATH_ATTACKS } from '../support/attacks/attack-paths.ts';
import { raw } from '../support/http/http-client.ts';
import { type ReviewedRelay, useReviewedRelay } from '../support/relay/relay-fixture.ts';
import { type HttpsWrapper, useHttps } from '../support/wrapper/https-wrapper.ts';
import { useAdmin } from '../support/wrapper/use.ts';

/*
 * Attacks of one request, as one table, on each listener. Those with a token run against a real API server too:
 * test/real/hostile/weak-token.test.ts.
 */

/** An answer that ends, or a connection that does, is waited for so long, in milliseconds. */
const ANSWER_MS = 20_000;
/** The endpoint that the view of node edge-1 does not show. */
const HIDDEN = '10.0.0.2';
/** An Accept header that no API server answers with whole objects. */
const METADATA_ONLY =
  /^(application\/(json|vnd\.kubernetes\.protobuf);as=PartialObjectMetadata(List)?;g=meta\.k8s\.io;v=v1(,(?=a)|$))+$/;
const ALL = [...PATH_ATTACKS, ...HEADER_ATTACKS];

let wrapper: HttpsWrapper;
let behind: ReviewedRelay;
let admin: Admin;

jest.setTimeout(120_000);

beforeAll(async () => {
  wrapper = await useHttps();
  behind = await useReviewedRelay();
  admin = await useAdmin(wrapper.proxy);
});

/** What a listener answers; the status is also `end`, or `nothing`. */
async function send(url: string, ca: string, bytes: string) {
  const { socket, received, closed } = raw(url, bytes, { ca });
  const late = setTimeout(() => socket.destroy(new Error('no answer')), ANSWER_MS);
  await closed;
  clearTimeout(late);
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(received()) ?? [];
  return { text: received(), status: status ?? (socket.errored === null ? 'end' : 'nothing') };
}

/** Whether a status is one of `200`, `4xx`, `400|403`. */
function matches(status: string, expected: string): boolean {
  return new RegExp(`^(${expected.replaceAll('xx', '\\d\\d')})$`).test(status);
}

/** What must not be in any answer. */
function problemOf({ text, status }: { readonly text: string; readonly status: string }) {
  if (/access-control/i.test(text)) return 'a web page of another origin may read the answer';
  const [code] = /(?<="kind":"Status".*"code":)\d+/s.exec(text) ?? [];
  const isJson = /^content-type: application\/json.*\r\n\r\n./ims.test(text);
  return isJson && status >= '400' && code !== status
    ? `the Status has the code ${code}`
    : undefined;
}

/** What the API server behind the wrapper has received, and whether with the caller's own token only. */
const reached = (): string[] =>
  wrapper.api.passed.map(({ method, url, headers }) => `${method} ${url} ${headers.authorization}`);

/** Returns what is wrong with the answer to an attack on the wrapper. */
async function judge({ bytes }: Attack, url: string, expected: string): Promise<string[]> {
  const [statuses = '', reaches] = expected.split(' ');
  const lines = url.startsWith('https:') ? 'Authorization: Bearer caller\r\n' : '';
  wrapper.api.passed.length = 0;
  const answer = await send(url, wrapper.ca, bytes(lines));
  const [request] = bytes(lines).split(' HTTP/1.1\r\n', 1);
  const wanted = reaches === '+' ? [`${request} Bearer caller`] : [];
  const problems = [problemOf(answer)];
  if (!matches(answer.status, statuses)) problems.push(`${answer.status}, expected ${statuses}`);
  if (reached().join() !== wanted.join()) problems.push(`reached the API server: ${reached()}`);
  if (wanted.length === 0 && answer.text.includes(HIDDEN)) problems.push(`shows ${HIDDEN}`);
  return problems.filter((problem) => problem !== undefined);
}

test.each([
  ['http', () => wrapper.proxy.url, (attack: Attack) => attack],
  ['https', () => wrapper.proxy.httpsUrl ?? '', (attack: Attack) => attack],
  [
    'admin',
    () => admin.url,
    ({ bytes, ...attack }: Attack) => {
      return {
        ...attack,
        bytes: (lines: string) => bytes(lines).replace('/api/v1/services', '/healthz'),
      };
    },
  ],
] as const)('each attack over %s gets the answer of the table', async (listener, url, adapt) => {
  const wrong: string[] = [];
  for (const attack of ALL) {
    const expected = attack[listener];
    if (expected === undefined) continue;
    const problems = await judge(adapt(attack), url(), expected);
    wrong.push(...problems.map((problem) => `${attack.name}: ${problem}`));
  }
  expect(wrong).toEqual([]);
});

test('no Accept header gets round the filter: a view answers it, or it is forwarded for metadata alone', async () => {
  const wrong: string[] = [];
  const forwarded = new Set<string | undefined>();
  // A watch of them lasts a second.
  for (const attack of ACCEPT_ATTACKS.filter(({ name }) => !name.includes('watch'))) {
    const problems = await judge(attack, wrapper.proxy.httpsUrl ?? '', attack.https ?? '');
    const [passed] = wrapper.api.passed;
    if (passed !== undefined) forwarded.add(passed.headers.accept);
    else wrong.push(...problems.map((problem) => `${attack.name}: ${problem}`));
  }
  expect(wrong).toEqual([]);
  expect(forwarded.size).toBe(2);
  for (const accept of forwarded) expect(accept).toMatch(METADATA_ONLY);
});

/** A list as wrappers send it, which a relay answers. */
const KNOWN = 'GET /api/v1/services?resourceVersion=0 ';

test('a relay gives each attack the answer of https at most, and forwards nothing', async () => {
  const { api, relay, ca } = behind;
  const wrong: string[] = [];
  for (const attack of ALL) {
    if (attack.https === undefined) continue;
    const isHeader = HEADER_ATTACKS.includes(attack);
    const [expected = ''] = isHeader ? `${attack.https}|400`.split(' ') : ['4xx|503|504|end'];
    const bytes = attack.bytes('Authorization: Bearer caller\r\n');
    const known = isHeader ? bytes.replace('GET /api/v1/services ', KNOWN) : bytes;
    const answer = await send(relay.url, ca, known);
    if (!matches(answer.status, expected)) {
      wrong.push(`${attack.name}: ${answer.status}, expected ${expected}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(api.passed).toEqual([]);
});
