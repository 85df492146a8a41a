import { buffer } from 'node:stream/consumers';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { KubeObject } from '../../../fake-apiserver/kube-object.ts';
import type { Encoding } from '../../../src/filter/codec/codec.ts';
import { addressesIn } from '../codec/addresses-in.ts';
import { ACCEPT, CODECS } from '../guarantees/watch-recorder.ts';
import { open } from '../http/http-client.ts';

export const SERVICES_PATH = '/api/v1/services';
export const SLICES_PATH = '/apis/discovery.k8s.io/v1/endpointslices';

/** The selectors of kube-proxy's query. */
export const KUBE_PROXY_SERVICES = {
  labelSelector: '!service.kubernetes.io/service-proxy-name',
  fieldSelector: 'spec.clusterIP!=None',
};

/** Creates or replaces a Namespace, with topology keys or (undefined) without. */
export function putNamespace(server: ApiServer, name: string, keys?: string): void {
  const annotations: Record<string, string> = keys === undefined ? {} : { topologyKeys: keys };
  put(server, 'namespaces', { metadata: { name, annotations } });
}

/** Creates or replaces a Community resource of FabEdge. */
export function putCommunity(server: ApiServer, name: string, members: readonly string[]): void {
  put(server, 'communities', { metadata: { name }, spec: { members } });
}

function put(
  server: ApiServer,
  collection: 'namespaces' | 'communities',
  object: KubeObject,
): void {
  if (server.get(collection, object.metadata.name) === undefined) server.create(collection, object);
  else server.update(collection, object);
}

/** Sets a label of a Service, or removes it with null. */
export function labelService(
  server: ApiServer,
  name: string,
  key: string,
  value: string | null,
): void {
  server.patch('services', name, { metadata: { labels: { [key]: value } } });
}

/** Names of the objects that a LIST shows. */
export async function listNames(
  url: string,
  encoding: Encoding,
  query: Record<string, string> = {},
): Promise<string[]> {
  const body = await get(`${url}?${new URLSearchParams(query)}`, encoding);
  const { items } = CODECS[encoding].decodeList([body]);
  return items.map((item) => CODECS[encoding].meta(item).name).sort();
}

/** Last numbers of the addresses `10.0.0.<n>` that a LIST shows. */
export async function listAddresses(url: string, encoding: Encoding = 'json'): Promise<number[]> {
  const body = await get(url, encoding);
  return numbersIn(body);
}

export function numbersIn(body: Buffer): number[] {
  const addresses = addressesIn(body);
  return [...new Set(addresses.map((address) => Number(address.slice(7))))].sort();
}

/** HTTP status of a GET. */
export async function statusOf(url: string, encoding: Encoding): Promise<number | undefined> {
  const response = await open(url, { headers: { accept: ACCEPT[encoding] } });
  return response.resume().statusCode;
}

async function get(url: string, encoding: Encoding): Promise<Buffer> {
  const response = await open(url, { headers: { accept: ACCEPT[encoding] } });
  const bytes = await buffer(response);
  const { statusCode } = response;
  if (statusCode !== 200) throw new Error(`${statusCode} ${bytes.toString('latin1')}`);
  return bytes;
}
