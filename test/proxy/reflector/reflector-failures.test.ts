import { afterEach, expect, test } from '@jest/globals';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import { SERVICES } from '../../../src/filter/codec/resource.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { Reflector } from '../../../src/proxy/reflector/reflector.ts';
import { eventually } from '../../support/eventually.ts';
import { upstreamPerTest } from '../../support/http/upstream.ts';
import { recordingLogger } from '../../support/wrapper/wrapper-fixture.ts';

/** What the API server does with a watch: refuses it, or sends these events and, unless it is to last, ends it. */
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

/** Follows an API server that lists nothing, at version 10, and answers each watch as it is told. */
async function follow(
  answer: (watch: number) => Answer,
  {
    random = () => -1,
    list = () => 200,
  }: { readonly random?: () => number; readonly list?: (nth: number) => number } = {},
) {
  const asked = { lists: [] as (string | null)[], watches: 0 };
  const { upstream } = await startUpstream((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://x');
    response.setHeader('content-type', 'application/json');
    const metadata = { resourceVersion: '10' };
    const empty = JSON.stringify({ kind: 'ServiceList', metadata, items: [] });
    if (searchParams.get('fieldSelector')?.includes('nobody.') === true) {
      response.end(empty);
    } else if (searchParams.get('watch') !== 'true') {
      response.statusCode = list(asked.lists.push(searchParams.get('resourceVersion')));
      response.end(response.statusCode === 200 ? empty : '{}');
    } else {
      const { refusal = 200, events = [], lasts = false } = answer(asked.watches++);
      response.writeHead(refusal).flushHeaders();
      for (const event of events) response.write(`${JSON.stringify(event)}\n`);
      if (!lasts) response.end();
    }
  });
  const codec = createJsonCodec();
  const { logger, lines } = recordingLogger();
  const query = { resource: SERVICES, namespace: '', labelSelector: '', fieldSelector: '' };
  const refused: (number | undefined)[] = [];
  const reflector = new Reflector({
    ...{ upstream, codec, logger, random, handlers: [], metadataOnly: false },
    query: { ...query, encoding: 'json' },
    decode: (object) => codec.meta(object),
    clock: new VersionAllocator(0),
    onRefused: (error) => refused.push(error?.status?.code),
  });
  const controller = new AbortController();
  controllers.push(controller);
  void reflector.run(controller.signal);
  const logged = (msg: string) => lines.filter((line) => line.msg === msg).length;
  return { reflector, asked, refused, logged };
}

const object = (metadata: object) => ({ kind: 'Service', metadata });
const good = { type: 'BOOKMARK', object: object({ resourceVersion: '11' }) };
const bad = { type: 'ADDED', object: object({ name: 'web', resourceVersion: '' }) };
const broken = {
  type: 'ERROR',
  object: { kind: 'Status', code: 500, reason: 'Broken', message: 'broken' },
};
const last = { lasts: true };

test('a watch that ends early is no failure when it has brought something', async () => {
  const { reflector, asked, logged } = await follow((n) => (n < 5 ? { events: [good] } : last));
  await eventually(() => asked.watches, 6);
  await eventually(() => reflector.status.connected, true);
  expect([reflector.status.failures, logged('interrupted')]).toEqual([0, 0]);
});

// Else it would be asked as fast as it answers, or told to be well again each time.
test('a watch that is ended at once, with nothing said, is a failure that goes on', async () => {
  const { asked, logged } = await follow(() => ({}), { random: () => -0.9 });
  await eventually(() => asked.watches >= 6, true);
  expect([logged('interrupted'), logged('connected again')]).toEqual([1, 0]);
  expect(asked.lists).toHaveLength(1);
});

test('what follows something good is a new failure: it is not waited for as after many', async () => {
  // The first wait takes 10 ms, the ninth 1.5 s.
  const random = () => -0.9;
  const { asked } = await follow(
    (n) => (n >= 20 ? last : { events: [n > 8 && n % 2 === 1 ? good : broken] }),
    { random },
  );
  await eventually(() => asked.watches >= 10, true);
  const started = performance.now();
  await eventually(() => asked.watches, 21);
  expect(performance.now() - started).toBeLessThan(5000);
});

test('of events that cannot be used, with good ones between them, none leads to a list', async () => {
  const { asked } = await follow((n) => (n >= 12 ? last : { events: [n % 2 === 0 ? bad : good] }));
  await eventually(() => asked.watches, 13);
  expect(asked.lists).toHaveLength(1);
});

test('after six answers in a row that cannot be used the next is asked for much later', async () => {
  const { reflector, asked } = await follow(() => ({ events: [bad] }));
  await eventually(() => reflector.status.failures, 6);
  // Each was asked for at once.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect([reflector.status.failures, asked.watches]).toEqual([6, 6]);
});

test('a refusal counts after three in a row, with neither anything good nor another failure between', async () => {
  const statuses = [403, 403, 500, 403, 403, 200, 403, 403, 200, 403, 403, 403];
  const { asked, refused } = await follow((n) =>
    n >= statuses.length ? last : { refusal: statuses[n] as number, events: [good] },
  );
  await eventually(() => asked.watches, statuses.length + 1);
  await eventually(() => refused, [undefined, undefined, 403, undefined]);
});

test('a version that is gone for lists as well gives way to the newest', async () => {
  const expired = { refusal: 410 };
  const { asked } = await follow((n) => (n === 0 ? expired : last), {
    list: (nth) => (nth === 2 ? 410 : 200),
  });
  await eventually(() => asked.watches, 2);
  expect(asked.lists).toEqual(['0', '10', null]);
});
