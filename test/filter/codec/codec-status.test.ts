import { describe, expect, test } from '@jest/globals';
import type { Status } from '../../../src/errors.ts';
import { ENDPOINT_SLICES } from '../../../src/filter/objects/resource.ts';
import {
  CODECS,
  chunked,
  codecOf,
  decodeAll,
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

describe('decodeStatus()', () => {
  test.each(STATUSES)('reads what encodeStatus() writes as a kube-apiserver: $file', (refused) => {
    const { codec, bytes, name } = refused;
    const isForbidden = name === 'status.forbidden-or-missing';
    const subject = { name: 'nope', group: 'discovery.k8s.io', kind: 'endpointslices' };
    const status = codec.decodeStatus(bytes) ?? expired;
    expect(status).toMatchObject(
      isForbidden
        ? { code: 403, reason: 'Forbidden', message: expect.stringMatching(/ is forbidden: User /) }
        : { code: 504, causes: [{ reason: 'ResourceVersionTooLarge' }] },
    );
    const written = codec.encodeStatus(isForbidden ? { ...status, subject } : status);
    expect(written.equals(bytes)).toBe(true);
    const refusal = expect.objectContaining({ code: 'Refused', status });
    expect(() => codec.decodeList([bytes])).toThrow(refusal);
  });

  test.each(CODECS)('reads every field, also of an ERROR event ($encoding)', async (codec) => {
    const statuses = [expired, detailed, { code: 0, reason: '', message: '' }];
    const read = statuses.map((status) => codec.decodeStatus(codec.encodeStatus(status)));
    expect(read).toEqual(statuses);
    const frames = statuses.map((status) => codec.encodeErrorEvent(status));
    const events = await decodeAll(codec, chunked(Buffer.concat(frames), []));
    expect(events).toEqual(statuses.map((status) => ({ type: 'ERROR', status })));
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

describe('an ERROR event', () => {
  test('is written as Go does', () => {
    expect(codecOf('json').encodeErrorEvent(expired).toString()).toBe(
      '{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",' +
        '"message":"too old resource version: 1 (2)","reason":"Expired","code":410}}\n',
    );
  });

  test.each(CODECS)('must have a Status ($encoding)', async (codec) => {
    const empty = Buffer.from(codec.encoding === 'json' ? '{}' : '');
    const event = Buffer.concat(codec.encodeEvent(ENDPOINT_SLICES, 'ADDED', empty));
    const error = Buffer.from(event.toString('latin1').replace('ADDED', 'ERROR'), 'latin1');
    await expect(decodeAll(codec, chunked(error, []))).rejects.toMatchObject({ code: 'Malformed' });
  });
});
