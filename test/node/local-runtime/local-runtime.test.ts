import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import { ENDPOINT_SLICES } from '../../../src/filter/objects/resource.ts';
import { LocalPods } from '../../../src/node/local-runtime/local-pods.ts';
import { CorrectedNode, GRACE_MS, RETURN_MS } from '../../support/local-runtime/corrected-node.ts';
import type { FakeSandbox } from '../../support/local-runtime/fake-runtime.ts';

let node: CorrectedNode;

beforeEach(() => {
  node = new CorrectedNode(new ProtobufCodec());
});

afterEach(() => void jest.restoreAllMocks());

/** What a power cut leaves: the old sandbox, and the new one with another address. */
const RESTARTED: readonly FakeSandbox[] = [
  { id: 'old', pod: 'web', ready: false },
  { id: 'new', pod: 'web', attempt: 1, addresses: ['10.1.0.3'] },
];
const WEB = { pod: 'web', ip: '10.1.0.2' };
const FAR = { pod: 'far', ip: '10.2.0.9', node: 'edge-2' };

test('the runtime is not read for a short interruption of the link', async () => {
  await node.pass(60_000);
  node.reachability.set(true);
  await node.pass(GRACE_MS - 1);
  node.reachability.set(false);
  await node.pass(60_000);
  expect(node.runtime.lists).toBe(0);
});

describe('while the node is cut off', () => {
  test('a correction is reported with its time, and keeps it', async () => {
    node.runtime.sandboxList = RESTARTED;
    node.send('web', [WEB, FAR]);
    await node.cutOff();
    node.epoch = 9_000;
    await node.pass(1_500);
    expect(node.corrector.corrections(10, 'default/web')).toEqual([
      {
        object: 'web',
        pod: 'default/web',
        since: 1_000,
        from: { address: '10.1.0.2', state: 'ready' },
        to: { address: '10.1.0.3', state: 'ready' },
      },
    ]);
    expect(node.corrector.corrections(10, 'default/other')).toEqual([]);
  });

  test('a read that finds the same costs nothing, in whatever order the runtime lists it', async () => {
    node.runtime.sandboxList = RESTARTED;
    node.send('web', [WEB, { pod: 'invented', ip: '10.9.0.1' }]);
    await node.cutOff();
    expect(node.shown()).toEqual({ web: ['web 10.1.0.3', 'invented 10.9.0.1 -'] });
    const find = jest.spyOn(LocalPods.prototype, 'find');
    for (const list of [RESTARTED, RESTARTED.toReversed(), RESTARTED]) {
      node.runtime.sandboxList = list;
      await node.pass(1_500);
    }
    expect(node.runtime.lists).toBe(4);
    expect(find).not.toHaveBeenCalled();
  });

  test('a read that finds something new edits only objects that change', async () => {
    node.runtime.sandboxList = [...RESTARTED, { id: 's', pod: 'db', addresses: ['10.1.0.8'] }];
    node.send('web', [WEB]);
    node.send('db', [{ pod: 'db', ip: '10.1.0.7' }]);
    await node.cutOff();
    const edit = jest.spyOn(node.codec, 'edit');
    node.runtime.sandboxList = [...RESTARTED, { id: 't', pod: 'db', addresses: ['10.1.0.9'] }];
    await node.pass(1_500);
    expect(node.shown()).toEqual({ web: ['web 10.1.0.3'], db: ['db 10.1.0.9'] });
    expect(edit).toHaveBeenCalledTimes(1);
  });

  test('a Pod that no endpoint named when it was read is looked up as soon as one names it', async () => {
    node.runtime.sandboxList = RESTARTED;
    await node.cutOff();
    expect(node.runtime.statuses).toBe(0);
    node.send('web', [WEB]);
    expect(node.shown()).toEqual({ web: ['web 10.1.0.2'] });
    await node.pass(1_500);
    expect(node.shown()).toEqual({ web: ['web 10.1.0.3'] });
    node.send('web', []);
    node.delete('web');
    expect(node.corrector.names('default/web')).toBe(false);
  });

  // Any slice with an invented Pod of this node counts. /status answered 500, and /metrics broke off.
  test('any number of corrections is counted, with the time of the first one', async () => {
    const invented = (_: unknown, n: number) => ({ pod: `pod-${n}`, ip: '10.9.0.1' });
    const object = node.send('slice-0', Array.from({ length: 10_000 }, invented));
    const facts = node.codec.endpoints(ENDPOINT_SLICES, object);
    for (let s = 1; s < 15; s++) {
      node.corrector.onChanges([{ type: 'ADDED', key: `default/slice-${s}`, facts, object }]);
    }
    expect(node.local.corrected.count).toBe(0);
    await node.cutOff();
    node.epoch = 9_000;
    node.send('late', [{ pod: 'late', ip: '10.99.0.1' }]);
    expect(node.local.corrected).toEqual({ count: 150_001, since: 1_000 });
    expect(node.corrector.count).toBe(150_001);
    expect(node.corrector.corrections(200)).toHaveLength(200);
  });

  test('an object that two views show counts once', async () => {
    const { codec } = node;
    const second = node.local.add({
      next: { onChanges() {}, onSynced() {} },
      codec,
      resource: ENDPOINT_SLICES,
      isCurrent: () => true,
    });
    const object = node.send('web', [WEB]);
    const facts = codec.endpoints(ENDPOINT_SLICES, object);
    second.onChanges([{ type: 'ADDED', key: 'default/web', facts, object }]);
    await node.cutOff();
    expect(second.count).toBe(1);
    expect(node.local.corrected).toEqual({ count: 1, since: 1_000 });
  });

  test('an object that arrives later never shows an address that is known to be wrong', async () => {
    node.runtime.sandboxList = RESTARTED;
    node.send('web', [WEB]);
    await node.cutOff();
    node.send('web-other-port', [WEB]);
    expect(node.shown()).toEqual({ web: ['web 10.1.0.3'], 'web-other-port': ['web 10.1.0.3'] });
    expect(node.passed.changes.slice(2)).toEqual(['ADDED default/web-other-port']);
  });

  test('a read that ends after the link has returned changes nothing', async () => {
    node.runtime.sandboxList = RESTARTED;
    node.send('web', [WEB]);
    const slow = Promise.withResolvers<void>();
    node.runtime.gate = slow.promise;
    await node.cutOff();
    node.reachability.set(false);
    slow.resolve();
    await node.pass(0);
    expect(node.shown()).toEqual({ web: ['web 10.1.0.2'] });
  });

  test('the status of a sandbox is requested once, until it has gone', async () => {
    node.runtime.sandboxList = [
      { id: 's', pod: 'web', addresses: ['10.1.0.3'] },
      { id: 'of no Service', pod: 'job', addresses: ['10.1.0.4'] },
    ];
    node.send('web', [WEB]);
    await node.cutOff();
    for (let i = 0; i < 3; i++) await node.pass(1_500);
    expect(node.shown()).toEqual({ web: ['web 10.1.0.3'] });
    expect(node.runtime.statuses).toBe(1);
    const { sandboxList } = node.runtime;
    for (const list of [[], sandboxList]) {
      node.runtime.sandboxList = list;
      await node.pass(1_500);
    }
    expect(node.runtime.statuses).toBe(2);
  });
});

describe('a runtime that does not answer', () => {
  test('changes nothing, and the reason is reported once', async () => {
    node.runtime.error = new Error('no such socket');
    node.send('web', [WEB]);
    await node.cutOff();
    for (let i = 0; i < 5; i++) await node.pass(5_000);
    expect(node.shown()).toEqual({ web: ['web 10.1.0.2'] });
    expect(node.local.problem).toBe('no such socket');
    expect(node.local.failures).toBeGreaterThan(3);
    const warnings = node.log.lines.filter(({ err }) => err === 'no such socket');
    expect(warnings).toHaveLength(1);
  });

  test('leaves the last corrections, and is followed again as soon as it answers', async () => {
    node.runtime.sandboxList = RESTARTED;
    node.send('web', [WEB]);
    await node.cutOff();
    node.runtime.error = new Error('gone');
    await node.pass(1_500);
    expect(node.shown()).toEqual({ web: ['web 10.1.0.3'] });
    node.runtime.error = undefined;
    node.runtime.sandboxList = [];
    await node.pass(5_000);
    expect(node.shown()).toEqual({ web: ['web 10.1.0.2 -'] });
    expect(node.local.problem).toBeUndefined();
  });

  // Nothing read it after the cut, so readyz and the metric reported the failure until the next one.
  test('is tried again after the cut, until it answers', async () => {
    node.send('web', [WEB]);
    await node.cutOff();
    node.runtime.error = new Error('gone');
    await node.pass(1_500);
    node.reachability.set(false);
    await node.pass(RETURN_MS);
    expect(node.local.problem).toBe('gone');
    node.runtime.error = undefined;
    await node.pass(60_000);
    expect(node.local.problem).toBeUndefined();
    // The next check.
    expect(node.clock.waiting).toBe(1);
  });

  // Its rights were changed, and nothing said so until the link went down.
  test('is reported within a minute, although it answered before', async () => {
    await node.pass(0);
    expect(node.local.problem).toBeUndefined();
    node.runtime.error = new Error('permission denied');
    await node.pass(60_000);
    expect(node.local.problem).toBe('permission denied');
    expect(node.runtime.lists).toBe(0);
  });

  test('is tried by one loop of attempts, however often the link fails', async () => {
    node.runtime.error = new Error('gone');
    await node.cutOff();
    for (let i = 0; i < 3; i++) {
      node.reachability.set(false);
      await node.pass(0);
      node.reachability.set(true);
      await node.pass(0);
    }
    node.reachability.set(false);
    await node.pass(10 * RETURN_MS);
    // The next attempt.
    expect(node.clock.waiting).toBe(1);
  });
});

describe('when the API server answers again', () => {
  beforeEach(async () => {
    node.runtime.sandboxList = [...RESTARTED, { id: 's', pod: 'db', addresses: ['10.1.0.8'] }];
    node.send('web', [WEB]);
    node.send('db', [{ pod: 'db', ip: '10.1.0.7' }]);
    await node.cutOff();
    node.reachability.set(false);
  });

  test('what it sends replaces the corrections; what it has not sent again follows later', async () => {
    expect(node.shown()).toEqual({ web: ['web 10.1.0.3'], db: ['db 10.1.0.8'] });
    const object = node.send('web', [{ pod: 'web', ip: '10.1.0.55' }]);
    expect(node.passed.objects.get('default/web')).toBe(object);
    await node.pass(RETURN_MS - 1);
    expect(node.shown()).toEqual({ web: ['web 10.1.0.55'], db: ['db 10.1.0.8'] });
    const before = node.passed.changes.length;
    await node.pass(1);
    expect(node.shown()).toEqual({ web: ['web 10.1.0.55'], db: ['db 10.1.0.7'] });
    expect(node.passed.changes.slice(before)).toEqual(['MODIFIED default/db']);
    expect(node.corrector.corrections(10)).toEqual([]);
    expect(node.local.state).toBe('connected');
    const { lists } = node.runtime;
    await node.pass(60_000);
    expect(node.runtime.lists).toBe(lists);
  });

  test('a view that the API server has not listed yet keeps its corrections', async () => {
    node.isCurrent = false;
    await node.pass(5 * RETURN_MS);
    expect(node.shown()).toEqual({ web: ['web 10.1.0.3'], db: ['db 10.1.0.8'] });
    expect(node.local.state).toBe('returning');
    node.isCurrent = true;
    await node.pass(RETURN_MS);
    expect(node.shown()).toEqual({ web: ['web 10.1.0.2'], db: ['db 10.1.0.7'] });
    expect(node.local.state).toBe('connected');
  });

  test('a link that fails again keeps the corrections and follows the runtime immediately', async () => {
    await node.pass(RETURN_MS - 1);
    node.reachability.set(true);
    node.runtime.sandboxList = [{ id: 's', pod: 'db', addresses: ['10.1.0.8'] }];
    await node.pass(60_000);
    expect(node.shown()).toEqual({ web: ['web 10.1.0.2 -'], db: ['db 10.1.0.8'] });
  });
});
