import { readFileSync } from 'node:fs';
import { beforeAll, expect, jest, test } from '@jest/globals';
import { createNode } from '../../../harness/api-server/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../../../harness/api-server/control-plane.ts';
import { type HostWrapper, startHostWrapper } from '../../../harness/hostile/host-wrapper.ts';
import { createPlacedService } from '../../../harness/node/placed-service.ts';
import { CODECS } from '../../../src/client/api/codecs.ts';
import { stoppedLater } from '../../support/closed-later.ts';
import { open } from '../../support/http/http-client.ts';

/* The same reads of the wrapper and of the API server behind it, side by side: it answers alike, or is stricter. */

jest.setTimeout(600_000);

const DISCOVERY = '/apis/discovery.k8s.io/v1';
const SLICES = `${DISCOVERY}/endpointslices`;

let plane: ControlPlane;
let wrapper: HostWrapper;

beforeAll(async () => {
  plane = stoppedLater(await startControlPlane());
  await createNode(plane.admin, 'here', { site: 'a' });
  const options = { name: 'web', annotations: { topologyKeys: '["site"]' } };
  await createPlacedService(plane.admin, options, [{ at: '10.244.1.5:8080', node: 'here' }]);
  const kubeconfig = plane.kubeconfig('wrapper');
  wrapper = stoppedLater(await startHostWrapper({ kubeconfig, nodeName: 'here' }));
});

/** What a client sees of an answer: status, type, and the first event of a watch or the reason of a refusal. */
async function read(
  server: 'wrapper' | 'API server',
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const isWrapper = server === 'wrapper';
  const credentials = isWrapper ? {} : { authorization: `Bearer ${plane.tokens.admin}` };
  const ca = isWrapper ? undefined : readFileSync(plane.caFile, 'utf8');
  const url = `${isWrapper ? wrapper.url : plane.server}${path}`;
  const response = await open(url, { headers: { ...headers, ...credentials }, ca });
  const { statusCode = 0, headers: answered } = response;
  const type = answered['content-type'] ?? '';
  if (statusCode !== 200) {
    response.destroy();
    return String(statusCode);
  }
  return `200 ${type}${answered.upgrade ?? ''}${await firstEvent(path, type, response)}`;
}

async function firstEvent(
  path: string,
  type: string,
  body: AsyncIterable<Buffer> & { destroy(): unknown },
): Promise<string> {
  if (!path.includes('watch')) {
    body.destroy();
    return '';
  }
  const decoder = CODECS[type.includes('protobuf') ? 'protobuf' : 'json'].watchDecoder(1 << 24);
  for await (const chunk of body) {
    const [event] = decoder.push(chunk).events;
    if (event === undefined) continue;
    body.destroy();
    return ` ${event.type}${event.type === 'ERROR' ? ` ${event.status.code}` : ''}`;
  }
  return ' end';
}

async function readBoth(path: string, accept = JSON_TYPE) {
  const headers = { accept };
  return {
    ours: await read('wrapper', path, headers),
    its: await read('API server', path, headers),
  };
}

const JSON_TYPE = 'application/json';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const METADATA = ';as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

test.each([
  '',
  '*/*',
  '*',
  'text/html',
  'application/*',
  'application/*;q=1, text/html',
  'application/*, text/html, */*;q=0.8',
  `application/*, ${PROTOBUF}`,
  'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2',
  '*/*;q=0',
  `${JSON_TYPE};q=0`,
  `${PROTOBUF};q=0, ${JSON_TYPE}`,
  `*/*, ${PROTOBUF};q=0.5`,
  `${PROTOBUF};q=0.5, */*`,
  `${PROTOBUF};q=0.5, ${JSON_TYPE};q=0.4, */*;q=0.3`,
  `${JSON_TYPE};drop=metadata.managedFields`,
  `${PROTOBUF};drop=metadata.managedFields,${JSON_TYPE};drop=metadata.managedFields`,
  `${PROTOBUF};type=watch`,
  `${PROTOBUF};type=watch, */*`,
  `${PROTOBUF};stream=watch`,
  `${JSON_TYPE};stream=watch`,
  `${JSON_TYPE};stream=`,
  `${PROTOBUF};stream=other, ${JSON_TYPE}`,
  `${JSON_TYPE};stream=other`,
  `${JSON_TYPE};pretty=1`,
  `${JSON_TYPE};charset=utf-8`,
  `${JSON_TYPE};profile=local;export=1;sv=v1;x;y=;z=1=2;as=Table==`,
  `${JSON_TYPE};as=Table=, ${PROTOBUF}`,
  `${JSON_TYPE};as= , ${PROTOBUF}`,
  `${JSON_TYPE};sv=v2`,
  `${PROTOBUF};sv=v2, ${JSON_TYPE}`,
  `${PROTOBUF};AS=Table`,
  `${PROTOBUF};as=`,
  `${JSON_TYPE};v=v1`,
  `${PROTOBUF};g=meta.k8s.io, ${JSON_TYPE}`,
  `${JSON_TYPE};as=Table`,
  `${JSON_TYPE};as=PartialObjectMetadataX;g=meta.k8s.io;v=v1, ${PROTOBUF}`,
  `${JSON_TYPE}${METADATA}==, ${PROTOBUF}`,
  `application/cbor, ${JSON_TYPE}`,
  ';',
  ',',
])('Accept %j is negotiated as by the API server', async (accept) => {
  for (const query of ['?resourceVersion=0', '?watch=true&resourceVersion=0']) {
    const { ours, its } = await readBoth(`${SLICES}${query}`, accept);
    expect(ours).toBe(its);
  }
});

const STREAMING = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';

test.each([
  `${STREAMING}&resourceVersion=9223372036854775807&timeoutSeconds=9`,
  `${STREAMING}&resourceVersion=1`,
  'watch=true',
  'watch=true&resourceVersion=0',
  'watch=true&resourceVersion=00',
  'watch=true&sendInitialEvents=true',
  'watch=true&resourceVersionMatch=NotOlderThan&resourceVersion=1',
  'resourceVersion=9223372036854775807',
  'resourceVersion=0&resourceVersionMatch=Exact',
  'resourceVersion=abc',
  'resourceVersion=-1',
  'resourceVersion=1&resourceVersionMatch=other',
  'limit=abc',
  'timeoutSeconds=abc',
  'timeout=abc',
  'timeout=1m30s',
  'timeout=30',
  'includeObject=abc',
  'limit=-1',
  'limit=0x1',
  'pretty=abc',
  'watch=true&timeoutSeconds=1&resourceVersion=0',
  'labelSelector=a%3D%3Db%3D%3Dc',
  'labelSelector=%21a',
  'fieldSelector=spec.x%3Dy',
  'fieldSelector=metadata.name%3Dweb',
])('%s is answered as by the API server', async (query) => {
  for (const accept of [JSON_TYPE, PROTOBUF]) {
    const { ours, its } = await readBoth(`${SLICES}?${query}`, accept);
    expect(ours).toBe(its);
  }
});

test.each([
  `${DISCOVERY}/watch/endpointslices`,
  `${DISCOVERY}/watch/namespaces/default/endpointslices`,
  `${DISCOVERY}/watch/namespaces/default/endpointslices/web`,
  '/api/v1/watch/services?resourceVersion=0',
  '/api/v1/watch/namespaces/default/services/web',
  '/api/v1/watch/nodes/here',
])('the deprecated watch path %s is answered as by the API server', async (path) => {
  for (const accept of [JSON_TYPE, PROTOBUF]) {
    const { ours, its } = await readBoth(path, accept);
    expect(ours).toBe(its);
  }
});

const LIST = `${SLICES}?resourceVersion=0`;
const OK = `200 ${JSON_TYPE}`;

test.each<[path: string, accept: string, ours: string, its: string, reason: string]>([
  [`${LIST}&timeoutSeconds=-1`, JSON_TYPE, '400', OK, 'no time is negative'],
  [`${LIST}&continue=a`, JSON_TYPE, '410', '400', 'a client lists again'],
  ['/api/v1/watch/other', JSON_TYPE, '403', '404', 'what is not granted is not looked up'],
  ['/api/v1/watch', JSON_TYPE, '403', '500', 'the same'],
  [`${LIST}&shardSelector=a`, JSON_TYPE, '400', OK, 'a shard is not everything'],
  [`${LIST}&other=1`, JSON_TYPE, '400', OK, 'a later parameter may select objects'],
  [`${LIST}&resourceVersion=1`, JSON_TYPE, '400', OK, 'of two values one is a mistake'],
  [`${LIST}&watch=no`, JSON_TYPE, '400', `${OK} ADDED`, 'to an API server it means true'],
  [LIST, `${JSON_TYPE};as=Table;g=meta.k8s.io;v=v1`, '406', OK, 'no view is a table'],
  [LIST, 'application/yaml', '406', '200 application/yaml', 'no view is in YAML'],
  [LIST, 'application/cbor, application/yaml', '406', '200 application/yaml', 'the same'],
])('%s, Accept: %s is %s here, not %s: %s', async (path, accept, ours, its) => {
  expect(await readBoth(path, accept)).toEqual({ ours, its });
});

test('a watch from an expired version is one ERROR event of 410, as of the API server', async () => {
  // Its watch cache is empty then.
  await plane.apiServer.restart();
  for (const accept of [JSON_TYPE, PROTOBUF]) {
    const { ours, its } = await readBoth(`${SLICES}?watch=true&resourceVersion=1`, accept);
    expect(ours).toMatch(/^200 .* ERROR 410$/);
    expect(ours).toBe(its);
  }
});

test('an offer to watch over a websocket is answered with a watch over http', async () => {
  const headers = { connection: 'Upgrade', upgrade: 'websocket', accept: JSON_TYPE };
  const answer = await read('wrapper', `${SLICES}?watch=true&resourceVersion=0`, headers);
  expect(answer).toBe(`200 ${JSON_TYPE} ADDED`);
});
