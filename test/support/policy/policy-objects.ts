import type { ModelService, ModelSlice, Shown } from '../../../harness/history/expected-view.ts';
import { toService, toSlice } from '../../../harness/history/history-objects.ts';
import type { Codec, Encoding } from '../../../src/filter/codec/codec.ts';
import { JsonCodec } from '../../../src/filter/codec/json/json-codec.ts';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import { ENDPOINT_SLICES } from '../../../src/filter/objects/resource.ts';
import type { View } from '../../../src/filter/view/view.ts';
import { encodeObject } from '../codec/encode-object.ts';
import { semanticBytes } from '../codec/semantic-bytes.ts';

const CODECS: Readonly<Record<Encoding, Codec>> = {
  json: new JsonCodec(),
  protobuf: new ProtobufCodec(),
};

/** Makes the objects of a model and the bytes of them that count; caches the slices. */
export class ModelObjects {
  readonly #slices = new Map<string, string>();

  /** The object as the API server has it. */
  raw(encoding: Encoding, kind: string, key: string, model: ModelService | ModelSlice): Buffer {
    const metadata = metadataOf(key, model.version);
    const isSlice = 'family' in model;
    const object = isSlice
      ? toSlice(model, metadata, true)
      : toService(model, metadata, '10.96.0.1');
    return encodeObject(encoding, kind, object);
  }

  /** A slice as a client must see it, for comparison with {@link significant}. */
  slice(encoding: Encoding, key: string, { slice, endpoints, hints }: Shown): string {
    const id = `${encoding} ${key} ${slice.version} ${endpoints.map((each) => slice.endpoints.indexOf(each))} ${hints}`;
    const cached = this.#slices.get(id);
    if (cached !== undefined) return cached;
    const object = toSlice({ ...slice, endpoints }, metadataOf(key, slice.version), hints);
    const text = significant(encoding, encodeObject(encoding, 'EndpointSlice', object));
    this.#slices.set(id, text);
    return text;
  }

  /** A Service as a client must see it. */
  service(encoding: Encoding, key: string, service: ModelService): string {
    return significant(encoding, this.raw(encoding, 'Service', key, service));
  }
}

const texts = new WeakMap<Buffer, string>();

/** The bytes of an object that count for a client. */
export function significant(encoding: Encoding, object: Buffer): string {
  let text = texts.get(object);
  if (text === undefined) {
    text = semanticBytes(CODECS[encoding], object).toString('latin1');
    texts.set(object, text);
  }
  return text;
}

/** The namespace/name of an object. */
export function keyOf(encoding: Encoding, object: Buffer): string {
  const { namespace, name } = CODECS[encoding].meta(object);
  return `${namespace}/${name}`;
}

const services = new WeakMap<Buffer, string>();

/** The key of a Service, or that of the Service to which a slice belongs; `<namespace>/`: to none. */
export function serviceOf({ codec, resource }: View, object: Buffer): string {
  let key = services.get(object);
  if (key === undefined) {
    const { namespace, name } = codec.meta(object);
    const isSlice = resource === ENDPOINT_SLICES;
    key = `${namespace}/${isSlice ? codec.endpoints(resource, object).service : name}`;
    services.set(object, key);
  }
  return key;
}

function metadataOf(key: string, version: number) {
  const [namespace = '', name = ''] = key.split('/');
  return { name, namespace, uid: key, resourceVersion: String(version), generation: version };
}
