import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Collection } from './collections.ts';
import { isRecord, type KubeObject } from './kube-object.ts';
import { badRequest, failure, type KubeStatus } from './kube-status.ts';
import { contentType, negotiate } from './negotiate.ts';
import { formatFor, referenceOf } from './read-requests.ts';
import { type Exchange, respond, respondStatus } from './respond.ts';
import type { Route } from './route.ts';
import type { Store } from './store.ts';
import { encodeObject } from './wire.ts';

/** The API server's limit. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const PATCHES = ['application/merge-patch+json', 'application/strategic-merge-patch+json'];

/** Serves POST, PUT, PATCH and DELETE. */
export async function serveWrite(store: Store, route: Route, exchange: Exchange): Promise<void> {
  // Negotiated first, so that nothing is written if the response cannot be encoded.
  negotiate(exchange.request.headers.accept, 'object');
  const body = await readBody(exchange.request);
  const type = mediaType(exchange.request);
  const { method } = exchange.request;
  if (method === 'DELETE' && route.name !== undefined) {
    serveDelete(store, route, exchange);
  } else if (method === 'PATCH' && route.name !== undefined) {
    if (!PATCHES.includes(type)) throw unsupportedMediaType(PATCHES);
    const reference = referenceOf(route.namespace, route.name);
    const patched = store.patch(route.collection.name, reference, parseObject(body));
    respondObject(exchange, 200, route.collection, patched);
  } else if (method === 'PUT' && route.name !== undefined) {
    assertJson(type);
    const object = addressed(route, parseObject(body));
    respondObject(exchange, 200, route.collection, store.update(route.collection.name, object));
  } else if (method === 'POST' && isCreatable(route)) {
    serveCreate(store, route, exchange, body);
  } else {
    throw methodNotAllowed();
  }
}

/** The error for a verb that a path does not support. */
export function methodNotAllowed() {
  const message = 'the server does not allow this method on the requested resource';
  return failure(405, 'MethodNotAllowed', message, {});
}

function isCreatable({ collection, namespace, name }: Route): boolean {
  return name === undefined && (!collection.namespaced || namespace !== undefined);
}

function serveCreate(store: Store, route: Route, exchange: Exchange, body: Buffer): void {
  const { collection } = route;
  if (mediaType(exchange.request) === PROTOBUF && collection.kind === 'Event') {
    // kube-proxy posts its Events in protobuf and reads only the status code of the response.
    respond(exchange, 201, PROTOBUF, body);
    return;
  }
  assertJson(mediaType(exchange.request));
  const object = addressed(route, withGeneratedName(parseObject(body)));
  respondObject(exchange, 201, collection, store.create(collection.name, object));
}

function serveDelete(store: Store, route: Route, exchange: Exchange): void {
  const { collection, namespace, name = '' } = route;
  const deleted = store.delete(collection.name, referenceOf(namespace, name));
  // DELETE of a Service returns the object; otherwise a Status (registry/core/service/storage).
  if (collection.kind === 'Service') {
    respondObject(exchange, 200, collection, deleted);
    return;
  }
  const { uid = '' } = deleted.metadata;
  const group = collection.group === '' ? {} : { group: collection.group };
  const details = { name, ...group, kind: collection.plural, uid };
  const status: KubeStatus = { metadata: {}, status: 'Success', details };
  respondStatus(exchange, 200, status);
}

function respondObject(
  exchange: Exchange,
  code: number,
  collection: Collection,
  object: KubeObject,
): void {
  const format = formatFor(exchange, collection, 'object');
  const type = contentType(format.encoding, 'object');
  respond(exchange, code, type, encodeObject(collection, object, format));
}

/** The object with the name and namespace of the path. Its own must be the same, if set. */
function addressed(route: Route, object: Record<string, unknown>): KubeObject {
  const { collection, namespace, name } = route;
  const metadata = isRecord(object.metadata) ? object.metadata : {};
  if ((object.kind ?? collection.kind) !== collection.kind) {
    throw badRequest(
      `${JSON.stringify(object.kind)} in version ${JSON.stringify(object.apiVersion)} cannot be handled as a ${collection.kind}`,
    );
  }
  if (namespace !== undefined && (metadata.namespace ?? namespace) !== namespace) {
    throw badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
  if (name !== undefined && (metadata.name ?? name) !== name) {
    throw badRequest(
      `the name of the object (${String(metadata.name)}) does not match the name on the URL (${name})`,
    );
  }
  const own = {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
  };
  return { ...object, metadata: { ...metadata, ...own } } as KubeObject; // the store validates it
}

function withGeneratedName(object: Record<string, unknown>): Record<string, unknown> {
  const metadata = isRecord(object.metadata) ? object.metadata : {};
  if (typeof metadata.generateName !== 'string' || typeof metadata.name === 'string') return object;
  const name = `${metadata.generateName}${randomBytes(3).toString('hex').slice(0, 5)}`;
  return { ...object, metadata: { ...metadata, name } };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) {
      const message = `Request entity too large: limit is ${MAX_BODY_BYTES}`;
      throw failure(413, 'RequestEntityTooLarge', message);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseObject(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (isRecord(value)) return value;
  } catch {
    // Refused below with the same message as JSON that is not an object.
  }
  throw badRequest("the object provided is unrecognized: couldn't parse it as a JSON object");
}

function mediaType(request: IncomingMessage): string {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';');
  return type.trim().toLowerCase();
}

function assertJson(type: string): void {
  if (type !== '' && type !== 'application/json') throw unsupportedMediaType(['application/json']);
}

function unsupportedMediaType(supported: readonly string[]) {
  const message = `the body of the request was in an unknown format - accepted media types include: ${supported.join(', ')}`;
  return failure(415, 'UnsupportedMediaType', message, {});
}
