import { afterEach, expect, test } from '@jest/globals';
import { createJsonCodec } from '../../src/filter/json/codec.ts';
import { SERVICES } from '../../src/filter/resource.ts';
import { VersionClock } from '../../src/filter/version-clock.ts';
import { Reflector } from '../../src/proxy/reflector.ts';
import { eventually } from '../support/eventually.ts';
import { upstreamPerTest } from '../support/http-upstream.ts';
import { recordingLogger } from '../support/wrapper-fixture.ts';

/*
 * An event that cannot be used, in a watch that opens well each time: it was asked for again six times a second,
 * for ever, each time with a line in the log and without a list.
 */
const startUpstream = upstreamPerTest();
const controllers: AbortController[] = [];

afterEach(() => {
  for (const controller of controllers.splice(0)) controller.abort();
});

const ended = (code: number) => ({
  type: 'ERROR',
  object: { kind: 'Status', status: 'Failure', code, reason: 'Broken', message: 'broken' },
});
const service = (name: string, resourceVersion: string) => ({
  type: 'ADDED',
  object: { kind: 'Service', metadata: { namespace: 'default', name, uid: name, resourceVersion } },
});

/** A reflector of an API server that lists nothing and answers each watch with `event()`. */
async function follow(event: () => object, maxObjects = 1000) {
  const asked = { lists: 0, watches: 0 };
  const { upstream } = await startUpstream((request, response) => {
    const isWatch = request.url?.includes('watch=true') === true;
    const list = { kind: 'ServiceList', metadata: { resourceVersion: '10' }, items: [] };
    const isAboutVersion = request.url?.includes('metadata.name%3Dnobody') === true;
    if (!isAboutVersion) asked[isWatch ? 'watches' : 'lists']++;
    response.setHeader('content-type', 'application/json');
    response.write(`${JSON.stringify(isWatch ? event() : list)}\n`);
    if (!isWatch) response.end();
  });
  const codec = createJsonCodec();
  const { logger, lines } = recordingLogger();
  const question = { resource: SERVICES, namespace: '', labelSelector: '', fieldSelector: '' };
  const reflector = new Reflector({
    ...{ upstream, codec, logger, sinks: [], metadataOnly: false },
    question: { ...question, encoding: 'json' },
    decode: (object) => codec.meta(object),
    clock: new VersionClock(0),
    bounds: { maxObjects, maxListBytes: 1 << 20, maxObjectBytes: 1 << 20 },
  });
  const controller = new AbortController();
  controllers.push(controller);
  void reflector.run(controller.signal);
  const logged = (msg: string) => lines.filter((line) => line.msg === msg).length;
  return { reflector, asked, logged };
}

test('an error in each watch is one failure that goes on, until something good comes', async () => {
  let event: object = ended(500);
  const { reflector, asked, logged } = await follow(() => event);
  await eventually(() => reflector.status.failures >= 1, true);
  const failedAt = performance.now();
  await eventually(() => reflector.status.failures >= 3, true);
  expect(reflector.status.error?.message).toContain('broken');
  expect(logged('interrupted')).toBe(1);
  expect(asked.lists).toBe(1);
  expect(reflector.status).toMatchObject({ connected: false });
  expect(reflector.status.staleMs).toBeGreaterThanOrEqual(performance.now() - failedAt);
  event = service('web', '11');
  await eventually(() => reflector.status.error, undefined);
  expect(reflector.status.failures).toBe(0);
  expect(logged('connected again')).toBe(1);
});

test.each([
  ['an object without a version', () => service('web', ''), 1000],
  ['one object more than there may be', () => service('web', '11'), 0],
])('%s leads to a list, and is one failure that goes on', async (_name, event, maxObjects) => {
  const { reflector, asked, logged } = await follow(event, maxObjects);
  await eventually(() => asked.lists >= 2, true);
  expect(asked.watches).toBeGreaterThanOrEqual(2);
  await eventually(() => reflector.status.failures >= 3, true);
  expect(logged('interrupted')).toBe(1);
});
