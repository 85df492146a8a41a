import { afterEach, expect, test } from '@jest/globals';
import type { ChangeHandler } from '../../../src/filter/codec/change.ts';
import type { ObjectMeta } from '../../../src/filter/codec/codec.ts';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import { SERVICES } from '../../../src/filter/codec/resource.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { DEFAULT_READ_LIMITS } from '../../../src/proxy/api/read-limits.ts';
import { Reflector } from '../../../src/proxy/reflector/reflector.ts';
import { eventually } from '../../support/eventually.ts';
import { captureLogger } from '../../support/http/logger.ts';
import { upstreamPerTest } from '../../support/http/upstream.ts';

/** How the API server answers a watch: it refuses it, or sends these events and then ends it unless `lasts`. */
interface Answer {
  readonly refusal?: number;
  readonly events?: readonly object[];
  readonly lasts?: boolean;
}

const startUpstream = upstreamPerTest();
const controllers: AbortController[] = [];
afterEach(() => {
  for (const controller of controllers.splice(0)) controller.abort();
});

const refused = JSON.stringify({ kind: 'Status', reason: 'Refused', message: 'no' });

/** Runs a reflector of an API server that lists no objects, at version 10, and answers each watch as `answer` says. */
async function follow(
  answer: (watch: number) => Answer,
  {
    random = () => -1,
    list = () => 200,
  }: { readonly random?: () => number; readonly list?: (nth: number) => number } = {},
) {
  const sent = { lists: [] as (string | null)[], watches: 0 };
  const { upstream, lines } = await startUpstream((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://x');
    response.setHeader('content-type', 'application/json');
    const checked = /metadata\.name=([^,]*)/.exec(searchParams.get('fieldSelector') ?? '')?.[1];
    const metadata = { resourceVersion: checked === undefined ? '10' : '99' };
    const empty = JSON.stringify({ kind: 'ServiceList', metadata, items: [] });
    if (checked !== undefined) {
      // An object of this name is known.
      const items = [{ metadata: { name: checked, uid: 'u', resourceVersion: '99' } }];
      response.end(JSON.stringify({ kind: 'ServiceList', metadata, items }));
    } else if (searchParams.get('watch') !== 'true') {
      response.statusCode = list(sent.lists.push(searchParams.get('resourceVersion')));
      response.end(response.statusCode === 200 ? empty : refused);
    } else {
      const { refusal = 200, events = [], lasts = false } = answer(sent.watches++);
      response.writeHead(refusal).flushHeaders();
      if (refusal !== 200) return void response.end(refused);
      response.write(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
      if (!lasts) response.end();
    }
  });
  const codec = createJsonCodec();
  const query = { resource: SERVICES, namespace: '', labelSelector: '', fieldSelector: '' };
  const changed: string[] = [];
  const handler: ChangeHandler<ObjectMeta> = {
    onChanges: (changes) => changed.push(...changes.map(({ key }) => key)),
    onSynced: () => {},
  };
  const refusals: (number | undefined)[] = [];
  const reflector = new Reflector({
    ...{
      upstream,
      random,
      logger: captureLogger().logger,
      metadataOnly: false,
    },
    handlers: [handler],
    query: { ...query, encoding: 'json' },
    decode: (object) => codec.meta(object),
    versions: new VersionAllocator(0),
    readLimits: DEFAULT_READ_LIMITS,
    onRefused: (error) => refusals.push(error?.status?.code),
  });
  const controller = new AbortController();
  controllers.push(controller);
  void reflector.run(controller.signal);
  const logged = (msg: string) => lines.filter((line) => JSON.parse(line).msg === msg).length;
  return { reflector, sent, changed, refusals, logged };
}

const object = (metadata: object) => ({ kind: 'Service', metadata });
const good = { type: 'BOOKMARK', object: object({ resourceVersion: '11' }) };
const useful = { type: 'ADDED', object: object({ name: 'web', uid: 'u', resourceVersion: '12' }) };
const bad = { type: 'ADDED', object: object({ name: 'web', resourceVersion: '' }) };
const last = { lasts: true };

test('a watch that ends early is not a failure when it has brought an event', async () => {
  const { reflector, sent, logged } = await follow((n) => (n < 5 ? { events: [useful] } : last));
  await eventually(() => sent.watches, 6);
  await eventually(() => reflector.status.connected, true);
  expect([reflector.status.failures, logged('interrupted')]).toEqual([0, 0]);
});

// Otherwise the reflector would watch again without a pause, or report a recovery each time.
test('a watch that ends immediately without an event is one continued failure', async () => {
  const { sent, logged } = await follow(() => ({}), { random: () => -0.9 });
  await eventually(() => sent.watches >= 6, true);
  expect([logged('interrupted'), logged('connected again')]).toEqual([1, 0]);
  expect(sent.lists).toHaveLength(1);
});

test('each of several events that arrive together after a reconnect is a change', async () => {
  const web = (n: number) => {
    const metadata = { name: `web-${n}`, uid: `u${n}`, resourceVersion: String(12 + n) };
    return { type: 'ADDED', object: object(metadata) };
  };
  const { changed } = await follow((n) =>
    n === 0 ? { events: [useful] } : { events: [web(1), web(2), web(3)], ...last },
  );
  await eventually(() => changed, ['web', 'web-1', 'web-2', 'web-3']);
});

test('unusable events with useful ones between them do not lead to a list', async () => {
  const { sent } = await follow((n) => (n >= 6 ? last : { events: [n % 2 === 0 ? bad : useful] }));
  await eventually(() => sent.watches, 7);
  expect(sent.lists).toHaveLength(1);
});

test('a refusal counts after three in a row, without a success or another failure between them', async () => {
  const statuses = [403, 403, 500, 403, 403, 200, 403, 403, 200, 403, 403, 403];
  const { sent, refusals } = await follow((n) =>
    n >= statuses.length ? last : { refusal: statuses[n] as number, events: [good] },
  );
  await eventually(() => sent.watches, statuses.length + 1);
  await eventually(() => refusals, [undefined, undefined, 403, undefined]);
});

test('a version that has expired for lists too leads to a list of the newest', async () => {
  const expired = { refusal: 410 };
  const { sent } = await follow((n) => (n === 0 ? expired : last), {
    list: (nth) => (nth === 2 ? 410 : 200),
  });
  await eventually(() => sent.watches, 2);
  expect(sent.lists).toEqual(['0', '10', null]);
});
