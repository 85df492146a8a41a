import { mkdtemp, rm } from 'node:fs/promises';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createJsonCodec } from '../../src/filter/json/codec.ts';
import { SERVICES } from '../../src/filter/resource.ts';
import { VersionClock } from '../../src/filter/version-clock.ts';
import { View } from '../../src/filter/view.ts';
import { Bequest } from '../../src/proxy/bequest.ts';
import { Digests } from '../../src/proxy/digests.ts';
import { readLastStates, writeLastStates } from '../../src/proxy/last-states.ts';
import { questionKey } from '../../src/proxy/question.ts';
import { Succession } from '../../src/proxy/succession.ts';
import type { ViewSource } from '../../src/proxy/view-source.ts';
import { eventually } from '../support/eventually.ts';
import { createSmallCluster } from '../support/small-cluster.ts';
import { recordingLogger, startWrapper } from '../support/wrapper-fixture.ts';

const NODE = 'edge-1';
const QUESTION = {
  ...{ resource: SERVICES, namespace: '', labelSelector: '', fieldSelector: '' },
  encoding: 'json',
} as const;

/** A process with this clock, with a view of Services. */
function processOf(clock: VersionClock, services: readonly string[]): View {
  clock.observe('7');
  const window = { entries: 100, bytes: 1 << 20 };
  const view = new View({ resource: SERVICES, codec: createJsonCodec(), clock, window });
  view.startAsIs(services.map((name) => [`a/${name}`, objectOf(name, 'old')] as const));
  return view;
}

function objectOf(name: string, says: string): Buffer {
  const metadata = { name, namespace: 'a', resourceVersion: '1', generation: 3 };
  return Buffer.from(JSON.stringify({ metadata, spec: { says } }));
}

function change(view: View, name: string, says: string): void {
  view.showAsIs(`a/${name}`, objectOf(name, says));
  view.log.commit();
}

const sourcesOf = (view: View) => [{ question: QUESTION, view }] as unknown as ViewSource[];

const wordsOf = (view: View) => writeLastStates(NODE, sourcesOf(view), new Digests());

let last: View;
let next: View;
let clock: VersionClock;

beforeEach(() => {
  last = processOf(new VersionClock(1_000), ['x', 'y']);
  clock = new VersionClock(2_000);
  next = processOf(clock, ['x', 'y']);
});

/** The views of which the process said that watches go on in them. */
let said: () => unknown[];

/** The position in the next view at which a watch of the last one goes on; undefined: nowhere. */
async function handOver(words?: string, meanwhile = () => {}): Promise<number | undefined> {
  const lastWords = Promise.resolve(words ?? wordsOf(last));
  const { logger, lines } = recordingLogger();
  said = () => lines.map((line) => line.views);
  const sources = () => sourcesOf(next);
  const succession = new Succession({ nodeName: NODE, lastWords, clock, sources, logger });
  setTimeout(meanwhile, 50);
  await succession.settled();
  return next.log.positionAfter(last.log.version);
}

describe('a watch of the last process', () => {
  test('goes on at the end, when both show the same', async () => {
    change(last, 'x', 'new');
    change(next, 'x', 'new');
    expect(await handOver()).toBe(next.log.end);
    expect(next.log.version >= last.log.version).toBe(true);
  });

  test('is never sent back in time: versions go on rising', async () => {
    for (let n = 0; n < 200_000; n++) last.showAsIs('a/x', objectOf('x', 'old'));
    last.log.commit();
    expect(last.log.version > next.log.version).toBe(true);
    const version = last.log.version;
    expect(await handOver()).toBe(0);
    expect(next.log.version).toBe(version);
    change(next, 'x', 'new');
    expect(next.log.version > version).toBe(true);
    expect(next.log.positionAfter(version)).toBe(0);
  });

  test('is told what this one knows already', async () => {
    change(next, 'y', 'new');
    change(next, 'x', 'new');
    change(last, 'x', 'new');
    expect(await handOver()).toBe(0);
  });

  test('is told what this one hears of a moment later', async () => {
    change(last, 'x', 'new');
    expect(await handOver(undefined, () => change(next, 'x', 'new'))).toBe(0);
  });

  test('is told of what has gone and come', async () => {
    next.hide('a/x');
    change(next, 'z', 'new');
    expect(await handOver()).toBe(0);
  });

  test('cannot go on when something differs of which the log knows nothing', async () => {
    next = processOf(clock, ['x']);
    expect(await handOver()).toBeUndefined();
    // Nor does it look for it for ever.
    await eventually(said, [[]]);
  });

  test('cannot go on, either, when there is an object that it was never told of', async () => {
    next = processOf(clock, ['x', 'y', 'z']);
    expect(await handOver()).toBeUndefined();
  });

  // What differs has changed here under an older version: told of it, the watch would be sent back in time.
  test('cannot go on when what it has to be told of is older than itself', async () => {
    last = processOf(new VersionClock(9_000_000), ['x', 'y']);
    change(next, 'x', 'new');
    expect(last.log.version > next.log.version).toBe(true);
    expect(await handOver()).toBeUndefined();
  });

  test('goes on though others were told of whose views are not open here, or not complete', async () => {
    const unknown = { ...QUESTION, namespace: 'a' };
    const empty = { ...QUESTION, namespace: 'b' };
    const sources = [unknown, empty, QUESTION].map((question) => ({ question, view: last }));
    const words = writeLastStates(NODE, sources as unknown as ViewSource[], new Digests());
    const window = { entries: 100, bytes: 1 << 20 };
    const codec = createJsonCodec();
    const view = new View({ resource: SERVICES, codec, clock, window });
    const { logger, lines } = recordingLogger();
    const open = [...sourcesOf(next), { question: empty, view }] as unknown as ViewSource[];
    const options = { nodeName: NODE, lastWords: Promise.resolve(words), clock, logger };
    await new Succession({ ...options, sources: () => open }).settled();
    expect(next.log.positionAfter(last.log.version)).toBe(next.log.end);
    await eventually(
      () => lines.map(({ level, views, of }) => [level, views, of]),
      [[30, [questionKey(QUESTION)], 3]],
    );
  });

  test('is nothing that the process speaks of when it was told nothing', async () => {
    const { logger, lines } = recordingLogger();
    const lastWords = Promise.resolve(undefined);
    const sources = () => sourcesOf(next);
    await new Succession({ nodeName: NODE, lastWords, clock, sources, logger }).settled();
    expect(lines).toEqual([]);
  });

  // Else this process could give out that very version for a state of its own, and then take the watch for its.
  test('cannot go on, either, at a version that this one gives out later', async () => {
    for (let n = 0; n < 200_000; n++) last.showAsIs('a/x', objectOf('x', 'old'));
    last.log.commit();
    next = processOf(clock, ['x']);
    expect(await handOver()).toBeUndefined();
    expect(clock.next() > last.log.version).toBe(true);
  });

  test.each([
    ['no JSON', '{"format":1,"node":"edge-1","views":['],
    ['of another node', JSON.stringify({ format: 1, node: 'other', views: [] })],
    ['of another format', JSON.stringify({ format: 2, node: NODE, views: [] })],
  ])('cannot go on when what was told is %s', async (_, words) => {
    expect(readLastStates(words, NODE)).toEqual([]);
    expect(await handOver(words)).toBeUndefined();
  });

  test.each([
    ['no texts', { 'a/x': 1, 'a/y': null }],
    ['none', {}],
    ['no object', null],
  ])('cannot go on when its digests are %s', async (_, digests) => {
    const told = JSON.parse(wordsOf(last));
    told.views[0].digests = digests;
    expect(await handOver(JSON.stringify(told))).toBeUndefined();
  });

  // The first word came while the certificates were still read, before there were any views.
  test('may be told of at any time while this process starts', async () => {
    const { logger, lines } = recordingLogger();
    const server = createSmallCluster();
    const folder = await mkdtemp(join(tmpdir(), 'succession-'));
    const lastWords = Promise.resolve(JSON.stringify({ format: 1, node: NODE, views: [] }));
    const selfSigned = { caFile: join(folder, 'ca.crt') };
    const https = { listen: '127.0.0.1:0', selfSigned };
    const proxy = await startWrapper(await server.listen(), { lastWords, logger }, { https });
    const said = () => lines.filter(({ msg }) => msg === 'watches of the last process go on here');
    await eventually(() => said().length, 1);
    await proxy.close();
    await server.close();
    await rm(folder, { recursive: true });
  });

  test('cannot go on when that fails, which is logged and ends nothing else', async () => {
    const { logger, lines } = recordingLogger();
    const lastWords = Promise.resolve(wordsOf(last));
    const sources = () => {
      throw new Error('no views');
    };
    await new Succession({ nodeName: NODE, lastWords, clock, sources, logger }).settled();
    expect(lines).toEqual([
      expect.objectContaining({ level: 50, err: expect.objectContaining({ message: 'no views' }) }),
    ]);
  });

  test('is not kept waiting by a process that does not end', async () => {
    const { logger } = recordingLogger();
    const lastWords = new Promise<undefined>(() => {});
    const sources = () => sourcesOf(next);
    const started = performance.now();
    await new Succession({ nodeName: NODE, lastWords, clock, sources, logger }).settled();
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe('what is digested ahead', () => {
  test('is not digested again, but for what has changed since', async () => {
    const digests = new Digests();
    await digests.prepare(sourcesOf(last), () => true);
    const significant = jest.spyOn(last.codec, 'significant');
    expect(writeLastStates(NODE, sourcesOf(last), digests)).toBe(wordsOf(last));
    significant.mockClear();
    change(last, 'x', 'new');
    last.hide('a/y');
    change(last, 'z', 'new');
    const words = writeLastStates(NODE, sourcesOf(last), digests);
    expect(significant).toHaveBeenCalledTimes(2);
    expect(words).toBe(wordsOf(last));
  });

  test('is done in portions, and no longer than it is needed', async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `s${index}`);
    const view = processOf(clock, names);
    const significant = jest.spyOn(view.codec, 'significant');
    let turns = 0;
    await new Digests().prepare(sourcesOf(view), () => ++turns < 3);
    expect(significant.mock.calls.length).toBeLessThan(500);
    significant.mockImplementation(() => {
      throw new Error('not to be read');
    });
    await new Digests().prepare(sourcesOf(view), () => true);
  });

  test('by the last process is what it tells, once somebody has asked', async () => {
    const bequest = new Bequest(NODE, () => sourcesOf(last));
    const heir = new ServerResponse(new IncomingMessage(new Socket()));
    const told = jest.spyOn(heir, 'end');
    const significant = jest.spyOn(last.codec, 'significant');
    bequest.add(heir);
    await delay(0);
    expect(significant).toHaveBeenCalledTimes(2);
    change(last, 'x', 'new');
    bequest.tell();
    expect(significant).toHaveBeenCalledTimes(3);
    expect(told.mock.calls[0]?.[0]).toBe(wordsOf(last));
  });

  test('by this process is compared with what the last one tells, as it is then', async () => {
    const lastWords = Promise.withResolvers<string>();
    const { logger } = recordingLogger();
    const options = { nodeName: NODE, lastWords: lastWords.promise, clock, logger };
    const succession = new Succession({ ...options, sources: () => sourcesOf(next) });
    await succession.prepare();
    const significant = jest.spyOn(next.codec, 'significant');
    change(next, 'x', 'new');
    change(last, 'x', 'new');
    lastWords.resolve(wordsOf(last));
    await succession.settled();
    expect(significant).toHaveBeenCalledTimes(1);
    expect(next.log.positionAfter(last.log.version)).toBe(next.log.end);
  });
});
