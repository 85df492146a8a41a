import { describe, expect, test } from '@jest/globals';
import { type Status, WrapperError } from '../../../src/errors.ts';
import { ENDPOINT_SLICES } from '../../../src/filter/codec/resource.ts';
import {
  CODECS,
  chunked,
  codecOf,
  decodeAll,
  fixture,
  LISTS,
  STATUSES,
} from '../../support/codec/codec-fixtures.ts';

const expired: Status = {
  code: 410,
  reason: 'Expired',
  message: 'too old resource version: 1 (2)',
};
const detailed: Status = {
  code: 504,
  reason: 'Timeout',
  message: 'Zeitüberschreitung "<&>"',
  retryAfterSeconds: 1,
  causes: [
    { reason: 'ResourceVersionTooLarge', message: 'Too large resource version' },
    { reason: '', message: 'another' },
  ],
};

function refusal(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}

describe('decodeStatus()', () => {
  test.each(['pb', 'json'])('reads the refusal of a kube-apiserver (%s)', (extension) => {
    const { codec, bytes } = fixture(`status.forbidden-or-missing.${extension}`);
    expect(codec.decodeStatus(bytes)).toEqual({
      code: 403,
      reason: 'Forbidden',
      message:
        'endpointslices.discovery.k8s.io "nope" is forbidden: User "system:kube-proxy" cannot get resource "endpointslices" in API group "discovery.k8s.io" at the cluster scope',
    });
  });

  test.each(LISTS)('returns undefined for $file', ({ codec, bytes }) => {
    expect(codec.decodeStatus(bytes)).toBeUndefined();
  });

  test.each(CODECS)('returns undefined for bytes that do not parse ($encoding)', (codec) => {
    const bodies = [
      '',
      'k8s',
      'k8s\0',
      'k8s\0\x0a\xff',
      '404 page not found',
      '{"kind":"Status"',
      '[]',
    ];
    const read = bodies.map((body) => codec.decodeStatus(Buffer.from(body, 'latin1')));
    expect(read).toEqual(bodies.map(() => undefined));
  });
});

describe('encodeStatus()', () => {
  test.each(['pb', 'json'])('writes a Status as a kube-apiserver does (%s)', (extension) => {
    const { codec, bytes } = fixture(`status.too-large-rv.${extension}`);
    const status = codec.decodeStatus(bytes);
    expect(status?.causes).toHaveLength(1);
    expect(codec.encodeStatus(status ?? expired).equals(bytes)).toBe(true);
  });

  test.each(['pb', 'json'])('names the object as a kube-apiserver does (%s)', (extension) => {
    const { codec, bytes } = fixture(`status.forbidden-or-missing.${extension}`);
    const status = codec.decodeStatus(bytes) ?? expired;
    const subject = { name: 'nope', group: 'discovery.k8s.io', kind: 'endpointslices' };
    expect(codec.encodeStatus({ ...status, subject }).equals(bytes)).toBe(true);
  });

  test.each(CODECS)('is read back ($encoding)', (codec) => {
    const statuses = [expired, detailed, { code: 0, reason: '', message: '' }];
    const read = statuses.map((status) => codec.decodeStatus(codec.encodeStatus(status)));
    expect(read).toEqual(statuses);
  });
});

describe('a Status in place of something else', () => {
  test.each(STATUSES)('refuses the list: $file', ({ codec, bytes }) => {
    const error = refusal(() => codec.decodeList([bytes]));
    expect(error).toBeInstanceOf(WrapperError);
    expect(error).toMatchObject({ code: 'Refused', status: codec.decodeStatus(bytes) });
  });

  test.each(CODECS)('is the object of an ERROR event ($encoding)', async (codec) => {
    const frames = [codec.encodeErrorEvent(expired), codec.encodeErrorEvent(detailed)];
    const events = await decodeAll(codec, chunked(Buffer.concat(frames), []));
    expect(events).toEqual([
      { type: 'ERROR', status: expired },
      { type: 'ERROR', status: detailed },
    ]);
  });

  test('is written into an ERROR event as Go does', () => {
    expect(codecOf('json').encodeErrorEvent(expired).toString()).toBe(
      '{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",' +
        '"message":"too old resource version: 1 (2)","reason":"Expired","code":410}}\n',
    );
  });

  test.each(CODECS)('is required in an ERROR event ($encoding)', async (codec) => {
    const event = Buffer.concat(
      codec.encodeEvent(ENDPOINT_SLICES, 'ADDED', emptyObject(codec.encoding)),
    );
    const error = Buffer.from(event.toString('latin1').replace('ADDED', 'ERROR'), 'latin1');
    await expect(decodeAll(codec, chunked(error, []))).rejects.toMatchObject({ code: 'Malformed' });
  });
});

function emptyObject(encoding: string): Buffer {
  return Buffer.from(encoding === 'json' ? '{}' : '');
}
