import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { PolicyEvents } from '../../../src/proxy/cluster/policy-events.ts';
import { eventually } from '../../support/eventually.ts';
import { captureLogger } from '../../support/http/logger.ts';
import { upstreamPerTest } from '../../support/http/upstream.ts';

const setUp = upstreamPerTest();
const WEB = { namespace: 'shop', name: 'web', uid: 'u-1', resourceVersion: '7' };

const open: PolicyEvents[] = [];

afterEach(async () => {
  for (const events of open.splice(0)) await events.close();
});

/** An API server that answers each Event with the next status, and repeats the last one. */
async function start(...statuses: number[]) {
  const written: { url: string | undefined; event: Record<string, unknown> }[] = [];
  const { upstream } = await setUp(async (request, response) => {
    written.push({ url: request.url, event: JSON.parse(await text(request)) });
    response.statusCode = statuses.length > 1 ? (statuses.shift() ?? 0) : (statuses[0] ?? 201);
    const { statusCode: code } = response;
    response.end(
      JSON.stringify({
        kind: 'Status',
        status: 'Failure',
        code,
        message: 'as the API server wrote',
      }),
    );
  });
  const { logger, lines } = captureLogger();
  const events = new PolicyEvents({ upstream, logger, nodeName: 'edge-1', spacingMs: 1 });
  open.push(events);
  return { events, written, lines };
}

describe('an invalid policy', () => {
  test('is written as an Event that kubectl describe finds', async () => {
    const { events, written } = await start(201);
    events.record(WEB, 'topologyKeys is no JSON');
    await eventually(() => events.counts.written, 1);
    expect(written).toHaveLength(1);
    expect(written[0]).toMatchObject({
      url: '/api/v1/namespaces/shop/events',
      event: {
        metadata: { namespace: 'shop', name: expect.stringMatching(/^web\.[0-9a-f]{16}$/) },
        involvedObject: {
          apiVersion: 'v1',
          kind: 'Service',
          namespace: 'shop',
          name: 'web',
          uid: 'u-1',
        },
        type: 'Warning',
        reason: 'InvalidTopologyPolicy',
        message: 'The Service is unfiltered: topologyKeys is no JSON',
        source: { component: 'kube-proxy-wrapper', host: 'edge-1' },
      },
    });
  });

  test('has the same name on each node, and another name for each error', async () => {
    const { events, written } = await start(201);
    const other = await start(409);
    events.record(WEB, 'first');
    events.record(WEB, 'second');
    other.events.record(WEB, 'first');
    await eventually(() => events.counts.written + other.events.counts.known, 3);
    await events.close();
    const names = [...written, ...other.written].map(({ event }) => event.metadata);
    expect(names[0]).toEqual(names[2]);
    expect(names[0]).not.toEqual(names[1]);
  });

  test('is written once, however often the Service changes', async () => {
    const { events, written } = await start(201);
    for (let n = 0; n < 5; n++) events.record({ ...WEB, resourceVersion: `${n}` }, 'same');
    events.record({ ...WEB, name: 'last' }, 'same');
    await eventually(() => events.counts.written, 2);
    expect(written).toHaveLength(2);
  });

  // A Namespace that is terminating or has no quota left answers 403; so does an API server that has just started.
  test('is written after a 403 for another one', async () => {
    const { events, written } = await start(403, 403, 403, 403, 201);
    const namespaces = ['a', 'b', 'c', 'd', 'shop'];
    for (const namespace of namespaces) events.record({ ...WEB, namespace }, 'same');
    await eventually(() => events.counts.written, 1);
    expect(events.counts.failed).toBe(4);
    expect(written).toHaveLength(5);
  });

  test('that cannot be written is counted, logged once per status, and does not delay others', async () => {
    const { events, lines } = await start(500, 403, 500, 403, 201);
    for (const problem of ['a', 'b', 'c', 'd', 'e']) events.record(WEB, problem);
    await eventually(() => events.counts.written, 1);
    expect(events.counts).toEqual({ written: 1, known: 0, failed: 4, dropped: 0 });
    expect(lines).toEqual([
      expect.stringContaining('answered 500'),
      expect.stringContaining('answered 403: as the API server wrote'),
    ]);
  });

  test('is queued with at most 1,000 others', async () => {
    const { events } = await start(201);
    for (let n = 0; n < 1_003; n++) events.record({ ...WEB, name: `web-${n}` }, 'same');
    expect(events.counts.dropped).toBe(3);
  });
});
