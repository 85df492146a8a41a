import { describe, expect, test } from '@jest/globals';
import type { Status } from '../../../src/errors.ts';
import { type Judgement, judgeResponse } from '../../../src/proxy/upstream/judge-response.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const SLICES = { type: PROTOBUF, kind: 'EndpointSliceList', group: 'discovery.k8s.io' };
const CIDRS = { type: PROTOBUF, kind: 'ServiceCIDRList', group: 'networking.k8s.io' };

const STATUS: Status = { code: 0, reason: '', message: '' };
const TOO_LARGE: Status = {
  ...STATUS,
  code: 504,
  causes: [{ reason: 'ResourceVersionTooLarge', message: '' }],
};

type Row = readonly [Judgement, number, string, { kind?: string; status?: Status }];

function judge([, statusCode, type, body]: Row, expected = SLICES): Judgement {
  return judgeResponse({ statusCode, headers: { 'content-type': type }, ...body }, expected);
}

describe('a response is', () => {
  const rows: readonly Row[] = [
    ['usable', 200, PROTOBUF, { kind: 'EndpointSliceList' }],
    ['usable', 200, `${PROTOBUF};stream=watch`, { kind: 'EndpointSliceList' }],
    ['usable', 401, 'application/json', { status: STATUS }],
    ['usable', 403, PROTOBUF, { status: STATUS }],
    ['usable', 404, PROTOBUF, { status: STATUS }],
    ['usable', 410, PROTOBUF, { status: STATUS }],
    ['usable', 504, PROTOBUF, { status: TOO_LARGE }],
    ['failing', 500, PROTOBUF, { status: STATUS }],
    // A timeout of a kube-apiserver has no type, so that Go guesses one.
    ['failing', 504, 'text/plain', { status: STATUS }],
    ['overloaded', 429, 'text/plain', {}],
    ['overloaded', 429, PROTOBUF, { status: STATUS }],
    ['foreign', 200, PROTOBUF, {}],
    ['foreign', 200, PROTOBUF, { kind: 'ServiceList' }],
    ['foreign', 200, 'application/json', { kind: 'EndpointSliceList' }],
    ['foreign', 200, 'text/html', {}],
    ['foreign', 200, '', {}],
    ['foreign', 204, PROTOBUF, { kind: 'EndpointSliceList' }],
    ['foreign', 302, '', {}],
    ['foreign', 302, PROTOBUF, { status: STATUS }],
    ['foreign', 401, 'text/plain', {}],
    ['foreign', 403, 'text/plain', {}],
    ['foreign', 403, 'application/json', {}],
    ['foreign', 404, 'text/plain', {}],
    ['foreign', 404, 'application/json', {}],
    ['foreign', 500, 'text/plain', {}],
    ['foreign', 502, 'text/html', {}],
    ['foreign', 503, 'text/plain', {}],
    ['foreign', 511, 'text/html', {}],
  ];

  test.each(rows)('%s: %i "%s" %j', (...row) => {
    expect(judge(row)).toBe(row[0]);
  });

  // kube-apiserver: "404 page not found".
  test.each([
    ['absent', 404, 'text/plain; charset=utf-8', {}],
    ['foreign', 404, 'application/json', {}],
    ['foreign', 404, 'text/html', {}],
    ['foreign', 403, 'text/plain', {}],
  ] as const)('%s for a collection that an API server may lack: %i "%s"', (...row) => {
    expect(judge(row, CIDRS)).toBe(row[0]);
  });
});
