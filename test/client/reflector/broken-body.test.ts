import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { DEFAULT_READ_LIMITS } from '../../../src/client/api/read-limits.ts';
import { CollectionClient } from '../../../src/client/reflector/collection-client.ts';
import { SERVICES } from '../../../src/filter/objects/resource.ts';
import { closedLater } from '../../support/closed-later.ts';
import { CODES, startHttp2Server } from '../../support/http/http2-server.ts';
import { recordOutcomes } from '../../support/http/outcomes.ts';
import { upstreamTo } from '../../support/http/upstream.ts';

/*
 * A body that RST_STREAM CANCEL breaks off ends as if it were complete; see Line. What reads it has to notice.
 */
const TYPES = {
  json: 'application/json',
  protobuf: 'application/vnd.kubernetes.protobuf',
} as const;
const FILES = { json: 'json', protobuf: 'pb' } as const;
const { signal } = new AbortController();

/** A client of an API server that breaks off each response after so many bytes. */
async function clientOf(
  encoding: keyof typeof TYPES,
  body: Buffer,
  more: Readonly<Record<string, string>> = {},
) {
  const cut = { at: 0 };
  const started = startHttp2Server(({ stream }) => {
    stream.respond({ ':status': 200, 'content-type': TYPES[encoding], ...more });
    stream.write(body.subarray(0, cut.at), () =>
      setImmediate(() => stream.close(CODES.NGHTTP2_CANCEL)),
    );
  });
  const server = closedLater(await started);
  const { upstream } = upstreamTo(server.url, { ca: server.ca });
  const selectors = { labelSelector: '', fieldSelector: '' };
  const query = { resource: SERVICES, namespace: '', ...selectors, encoding };
  const create = () => new CollectionClient({ upstream, readLimits: DEFAULT_READ_LIMITS, query });
  return { cut, create, outcomes: recordOutcomes(upstream) };
}

const fixture = (name: string, encoding: keyof typeof TYPES) =>
  readFileSync(`test/fixtures/services.${name}.${FILES[encoding]}`);

/** Bytes after which a body shows that it is a list of the API server. */
const HEAD_BYTES = 32;

/** The first and the last bytes, and some between. */
function cutsOf({ length }: Buffer): number[] {
  const ends = Array.from({ length: 40 }, (_, n) => [n, length - 1 - n]).flat();
  return [...ends, ...Array.from({ length: 40 }, (_, n) => Math.floor((length * n) / 40))];
}

describe.each(['json', 'protobuf'] as const)('in %s', (encoding) => {
  test.each([
    ['a list', {}, (list: Buffer) => list],
    ['a list in gzip', { 'content-encoding': 'gzip' }, gzipSync],
  ])(
    '%s that breaks off anywhere is none, unless all of its objects are there',
    async (_what, headers, encode) => {
      const list = encode(fixture('list', encoding));
      const { cut, create, outcomes } = await clientOf(encoding, list, headers);
      cut.at = list.length;
      const whole = await create().list('', signal);
      let broken = 0;
      // Three foreign answers in a row would be a reason to use another API server.
      for (const at of cutsOf(list)) {
        cut.at = at;
        const reported = outcomes.length;
        const found = await create()
          .list('', signal)
          .catch(({ code }: { code: string }) => code);
        if (at > HEAD_BYTES) expect(outcomes.slice(reported)).not.toContain('foreign');
        if (found === 'Unreachable') broken++;
        else expect([at > list.length - 8, found]).toEqual([true, whole]);
      }
      expect(broken).toBeGreaterThan(100);
    },
  );

  test('a watch that breaks off has ended early, or has failed', async () => {
    const events = fixture('watch', encoding);
    const { cut, create } = await clientOf(encoding, events, {
      'content-type': `${TYPES[encoding]};stream=watch`,
    });
    for (const at of cutsOf(events)) {
      cut.at = at;
      const handlers = { accepted: async () => {}, events: () => {} };
      const end = create()
        .watch('1', signal, handlers)
        .then((inTime) => (inTime ? 'in time' : 'early'))
        .catch(() => 'failed');
      expect(await end).not.toBe('in time');
    }
  });
});
