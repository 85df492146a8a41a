import { describe, expect, test } from '@jest/globals';
import type { RequestEnd } from '../../../src/client/api/request-end.ts';
import { endOfResponse, isListOf } from '../../../src/client/reflector/end-of-response.ts';
import type { Status } from '../../../src/errors.ts';
import { NODES, SERVICE_CIDRS } from '../../../src/filter/objects/resource.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const SLICES = 'discovery.k8s.io';
const CIDRS = 'networking.k8s.io';

const STATUS: Status = { code: 0, reason: '', message: '' };
const TOO_LARGE: Status = {
  ...STATUS,
  code: 504,
  causes: [{ reason: 'ResourceVersionTooLarge', message: '' }],
};

type Row = readonly [RequestEnd, number, string, { status?: Status }];

function judge([, statusCode, type, { status }]: Row, group = SLICES): RequestEnd {
  const headers = { 'content-type': type };
  return endOfResponse({ statusCode, headers }, status && { ...status, code: statusCode }, group);
}

describe('a response is', () => {
  const rows: readonly Row[] = [
    ['unauthorized', 401, 'application/json', { status: STATUS }],
    ['forbidden', 403, PROTOBUF, { status: STATUS }],
    ['rejected', 404, PROTOBUF, { status: STATUS }],
    ['expired', 410, PROTOBUF, { status: STATUS }],
    ['behind', 504, PROTOBUF, { status: TOO_LARGE }],
    ['serverError', 500, PROTOBUF, { status: STATUS }],
    // A timeout of a kube-apiserver has no type, so that Go guesses one.
    ['serverError', 504, 'text/plain', { status: STATUS }],
    ['refused', 409, PROTOBUF, { status: STATUS }],
    ['overloaded', 408, PROTOBUF, { status: STATUS }],
    ['overloaded', 429, 'text/plain', {}],
    ['overloaded', 429, PROTOBUF, { status: STATUS }],
    ['foreign', 200, PROTOBUF, {}],
    ['foreign', 204, PROTOBUF, {}],
    ['foreign', 302, PROTOBUF, { status: STATUS }],
    ['foreign', 401, 'text/plain', {}],
    ['foreign', 403, 'text/plain', {}],
    ['foreign', 404, 'text/plain', {}],
    ['foreign', 404, 'application/json', {}],
    ['foreign', 502, 'text/html', {}],
    ['foreign', 511, 'text/html', {}],
  ];

  test.each(rows)('%s: %i "%s" %j', (...row) => {
    expect(judge(row)).toBe(row[0]);
  });

  // kube-apiserver: "404 page not found".
  test.each([
    ['mayBeAbsent', 404, 'text/plain; charset=utf-8', {}],
    ['foreign', 404, 'application/json', {}],
    ['foreign', 404, 'text/html', {}],
    ['foreign', 403, 'text/plain', {}],
  ] as const)('%s for a collection that an API server may lack: %i "%s"', (...row) => {
    expect(judge(row, CIDRS)).toBe(row[0]);
  });
});

// The API server has decided the first four; a relay itself has refused the others.
test.each<[code: number, ofOwn: RequestEnd, ofOthers: RequestEnd]>([
  [403, 'forbidden', 'forbidden'],
  [404, 'rejected', 'rejected'],
  [410, 'expired', 'expired'],
  [429, 'overloaded', 'overloaded'],
  [400, 'relayRefused', 'rejected'],
  [422, 'relayRefused', 'rejected'],
  [401, 'relayRefused', 'overloaded'],
  [503, 'relayRefused', 'overloaded'],
  [504, 'relayRefused', 'overloaded'],
])('%i of a relay is %s; for a query of another client than kube-proxy, %s', (code, ...ends) => {
  const response = { statusCode: code, headers: { 'content-type': PROTOBUF }, isRelay: true };
  const judged = [false, true].map((forOthers) =>
    endOfResponse(response, { ...TOO_LARGE, code }, SLICES, forOthers),
  );
  expect(judged).toEqual(ends);
});

describe('a list is of a collection', () => {
  const list = (kind: string, ...kinds: string[]) => ({ kind, itemKinds: new Set(kinds) });
  const whole = { resource: SERVICE_CIDRS };
  const partial = { resource: NODES, metadataOnly: true };

  test.each([
    [whole, list('ServiceCIDRList'), true],
    [whole, list('ServicecidrList', 'ServiceCIDR'), true],
    [whole, list('ServicecidrList'), true],
    [whole, list('List', 'ServiceCIDR'), true],
    [whole, list('List'), false],
    [whole, list('ConfigMapList'), false],
    [whole, list('ServiceCIDRList', 'ServiceCIDR', 'ConfigMap'), false],
    [whole, list('PartialObjectMetadataList'), false],
    [partial, list('PartialObjectMetadataList'), true],
    [partial, list('NodeList', 'Node'), true],
    [partial, list('PodList'), false],
  ])('%j in %j: %s', (query, found, isOf) => {
    expect(isListOf(query, found)).toBe(isOf);
  });
});
