import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseRequestInfo } from '../../../src/proxy/api/request-info.ts';
import { EventAdmission } from '../../../src/proxy/passthrough/event-admission.ts';
import {
  EVENTS,
  PATCH_TYPE,
  PROTOBUF,
  SERIES_PATCH,
  startingEvent,
} from '../../support/http/kube-proxy-events.ts';

const JSON_TYPE = 'application/json';
const [START] = EVENTS;
const admission = new EventAdmission('edge-1', 'edge-1.example.com');

function create(body: Buffer | string, contentType = JSON_TYPE, path = START.path) {
  const target = parseRequestInfo(path);
  if (target.kind !== 'events') throw new Error('not a path of Events');
  return admission.checkCreate(Buffer.from(body), contentType, target);
}

describe("kube-proxy's own Events are accepted", () => {
  test.each(EVENTS)('$title', ({ path, name, protobuf, json }) => {
    expect(create(protobuf, PROTOBUF, path)).toEqual({ name });
    expect(create(json, JSON_TYPE, path)).toEqual({ name });
  });

  test.each(['edge-1', 'EDGE-1', 'edge-1.example.com'])('of the host %s', (host) => {
    const reportingInstance = `kube-proxy-${host}`;
    expect(create(startingEvent('a.1', { reportingInstance }))).toEqual({ name: 'a.1' });
  });
});

describe('an Event that kube-proxy would not write is refused', () => {
  const regarding = (fields: object) => ({
    regarding: { kind: 'Node', name: 'edge-1', ...fields },
  });
  const metadata = (fields: object) => ({
    metadata: { name: 'a.1', namespace: 'default', ...fields },
  });

  test.each([
    ['of another reporter', { reportingController: 'kubelet' }, 'reporter'],
    ['of a reporter that is spelt otherwise', { reportingController: 'Kube-Proxy' }, 'reporter'],
    ['without a reporter', { reportingController: '' }, 'reporter'],
    ['of two reporters', { deprecatedSource: { component: 'kubelet' } }, 'reporter'],
    ['of another host', { reportingInstance: 'kube-proxy-edge-2' }, 'node'],
    ['of a host whose name only begins so', { reportingInstance: 'kube-proxy-edge-10' }, 'node'],
    ['of no host', { reportingInstance: '' }, 'node'],
    ['of two hosts', { deprecatedSource: { host: 'edge-2' } }, 'node'],
    ['about another Node', regarding({ name: 'edge-2' }), 'node'],
    ['about a Pod', regarding({ kind: 'Pod' }), 'object'],
    ['about a kind of another group', regarding({ apiVersion: 'apps/v1' }), 'object'],
    ['about a Node in a namespace', regarding({ namespace: 'default' }), 'object'],
    ['about a Service elsewhere', regarding({ kind: 'Service', namespace: 'shop' }), 'object'],
    ['about no object', { regarding: {} }, 'object'],
    ['of another namespace than its path', metadata({ namespace: 'kube-system' }), 'object'],
    ['without a namespace', metadata({ namespace: '' }), 'object'],
    ['with a related object', { related: { kind: 'Pod', name: 'a' } }, 'metadata'],
    ['with labels', metadata({ labels: { a: 'b' } }), 'metadata'],
    ['with annotations', metadata({ annotations: { a: 'x'.repeat(2000) } }), 'metadata'],
    ['with an owner', metadata({ ownerReferences: [{ name: 'a' }] }), 'metadata'],
    ['with a finalizer', metadata({ finalizers: ['a/b'] }), 'metadata'],
    ['with a generated name', metadata({ name: '', generateName: 'a' }), 'metadata'],
    ['with a name that is not one', metadata({ name: '../a' }), 'metadata'],
    ['of another kind', { kind: 'Secret' }, 'malformed'],
    ['of another version', { apiVersion: 'v1' }, 'malformed'],
    ['with a number for a name', metadata({ name: 1 }), 'malformed'],
  ])('%s', (_title, fields, rule) => {
    expect(create(startingEvent('a.1', fields))).toMatchObject({ rule });
  });

  test('about a Node in kube-system', () => {
    const path = '/apis/events.k8s.io/v1/namespaces/kube-system/events';
    const fields = { metadata: { name: 'a.1', namespace: 'kube-system' } };
    expect(create(startingEvent('a.1', fields), JSON_TYPE, path)).toMatchObject({ rule: 'object' });
  });

  test.each([undefined, '', 'text/plain', 'application/yaml', 'application/json, a/b', PATCH_TYPE])(
    'with the Content-Type %p',
    (contentType) => {
      const target = { apiVersion: 'events.k8s.io/v1', namespace: 'default' } as const;
      const body = Buffer.from(START.json);
      expect(admission.checkCreate(body, contentType, target)).toMatchObject({
        rule: 'media-type',
      });
    },
  );

  // Go merges objects that are there twice; a reader that takes the last one does not see the labels.
  test.each([
    ['metadata twice', START.json.replace('"metadata":', '"metadata":{"labels":{"a":"b"}},$&')],
    ['an escaped key twice', START.json.replace('"kind":', '"\\u006bind":"Secret",$&')],
    ['more after its end', `${START.json}{}`],
    ['no JSON', 'hello'],
    ['a list', '[]'],
    ['nothing', ''],
  ])('with %s', (_title, body) => {
    expect(create(body)).toMatchObject({ rule: 'malformed' });
  });
});

describe('an Event in protobuf is refused', () => {
  const bytes = START.protobuf;
  /** Inserts fields at the end of the object, before the last two of the envelope. */
  function withFields(fields: Buffer): Buffer {
    const start = bytes.indexOf(Buffer.from('12a801', 'hex'));
    const object = Buffer.concat([bytes.subarray(start + 3, -4), fields]);
    const length = Buffer.from([0x12, (object.length & 0x7f) | 0x80, object.length >> 7]);
    return Buffer.concat([bytes.subarray(0, start), length, object, bytes.subarray(-4)]);
  }
  const text = (tag: string, value: string): Buffer =>
    Buffer.concat([Buffer.from(tag, 'hex'), Buffer.from([value.length]), Buffer.from(value)]);

  test('with two reporters: the last one counts, as in Go', () => {
    expect(create(withFields(text('22', 'kube-proxy')), PROTOBUF)).toEqual({ name: START.name });
    expect(create(withFields(text('22', 'kubelet')), PROTOBUF)).toMatchObject({ rule: 'reporter' });
  });

  // Our decoder ignores the bits above 32 of a number, Go does not: it would not see this reporter.
  test('whose fields have numbers in a longer form than they need', () => {
    const hidden = Buffer.concat([text('22', 'kubelet'), text('a280808010', 'kube-proxy')]);
    expect(create(withFields(hidden), PROTOBUF)).toMatchObject({ rule: 'malformed' });
    const long = text('a200', 'kube-proxy');
    expect(create(withFields(long), PROTOBUF)).toMatchObject({ rule: 'malformed' });
  });

  test('with metadata that kube-proxy does not set, in one part or in another', () => {
    const labels = Buffer.from('0a085a060a0161120162', 'hex');
    expect(create(withFields(labels), PROTOBUF)).toMatchObject({ rule: 'metadata' });
    const finalizer = Buffer.from('0a0372016b', 'hex');
    expect(create(withFields(finalizer), PROTOBUF)).toMatchObject({ rule: 'metadata' });
  });

  test('with a related object', () => {
    expect(create(withFields(Buffer.from('4a030a0161', 'hex')), PROTOBUF)).toMatchObject({
      rule: 'metadata',
    });
  });

  test('in a content encoding', () => {
    const encoded = Buffer.concat([bytes.subarray(0, -4), text('1a', 'gzip'), bytes.subarray(-2)]);
    expect(create(encoded, PROTOBUF)).toMatchObject({ rule: 'malformed' });
  });

  test('that breaks off anywhere', () => {
    for (let end = 0; end < bytes.length - 4; end++) {
      expect(create(bytes.subarray(0, end), PROTOBUF)).toHaveProperty('rule');
    }
  });

  test('or accepted, but never throws, whatever the bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(bytes.length - 1), (noise, at) => {
        const body = Buffer.from(bytes);
        body.set(noise.subarray(0, bytes.length - at), at);
        expect(create(body, PROTOBUF)).toBeInstanceOf(Object);
        expect(create(Buffer.from(noise), JSON_TYPE)).toMatchObject({ rule: expect.any(String) });
      }),
    );
  });
});

describe('a patch', () => {
  const patch = (body: string, type = PATCH_TYPE) => admission.checkPatch(Buffer.from(body), type);

  test.each([
    ['of a series', SERIES_PATCH],
    // client-go tools/record eventObserve.
    ['of a count', '{"count":2,"lastTimestamp":"2026-11-22T10:00:00Z","message":"Starting."}'],
  ])('%s is accepted', (_title, body) => {
    expect(patch(body)).toBeUndefined();
  });

  test.each([
    ['the reason', '{"reason":"a"}', 'patch'],
    ['the type', '{"series":{"count":2},"type":"Warning"}', 'patch'],
    ['the metadata', '{"metadata":{"finalizers":["a/b"]}}', 'patch'],
    ['a series by a directive', '{"series":{"$patch":"replace","count":2}}', 'patch'],
    ['all by a directive', '{"$patch":"replace"}', 'patch'],
    ['the message to a long one', `{"message":"${'x'.repeat(1025)}"}`, 'patch'],
    ['a time to a long one', `{"lastTimestamp":"${'x'.repeat(65)}"}`, 'patch'],
    ['the count twice', '{"count":2,"count":3}', 'malformed'],
    ['the count to a text', '{"count":"2"}', 'malformed'],
    ['a series to a text', '{"series":"x"}', 'malformed'],
    ['nothing', '', 'malformed'],
    ['a list of operations', '[{"op":"remove","path":"/reason"}]', 'malformed'],
  ])('of %s is refused', (_title, body, rule) => {
    expect(patch(body)).toMatchObject({ rule });
  });

  test.each(['application/json-patch+json', 'application/apply-patch+yaml', 'application/json'])(
    'in %s is refused',
    (type) => {
      expect(patch(SERIES_PATCH, type)).toMatchObject({ rule: 'media-type' });
    },
  );
});
