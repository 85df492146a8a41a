import type { ModelService, ModelSlice, Shown } from '../../../harness/history/expected-view.ts';
import type { Codec, Encoding } from '../../../src/filter/codec/codec.ts';
import { JsonCodec } from '../../../src/filter/codec/json/json-codec.ts';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
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
    const object = 'family' in model ? whole(key, model) : serviceObject(key, model);
    return encodeObject(encoding, kind, object);
  }

  /** A slice as a client must see it, for comparison with {@link significant}. */
  slice(encoding: Encoding, key: string, { slice, endpoints, hints }: Shown): string {
    const id = `${encoding} ${key} ${slice.version} ${endpoints.map((each) => slice.endpoints.indexOf(each))} ${hints}`;
    const cached = this.#slices.get(id);
    if (cached !== undefined) return cached;
    const object = sliceObject(key, slice, endpoints, hints);
    const text = significant(encoding, encodeObject(encoding, 'EndpointSlice', object));
    this.#slices.set(id, text);
    return text;
  }

  /** A Service as a client must see it. */
  service(encoding: Encoding, key: string, service: ModelService): string {
    return significant(encoding, this.raw(encoding, 'Service', key, service));
  }
}

/** The bytes of an object that count for a client. */
export function significant(encoding: Encoding, object: Buffer): string {
  return semanticBytes(CODECS[encoding], object).toString('latin1');
}

/** The namespace/name of an object. */
export function keyOf(encoding: Encoding, object: Buffer): string {
  const { namespace, name } = CODECS[encoding].meta(object);
  return `${namespace}/${name}`;
}

function metadata(key: string, version: number, more: object): object {
  const [namespace = '', name = ''] = key.split('/');
  const resourceVersion = String(version);
  return { name, namespace, uid: key, resourceVersion, generation: version, ...more };
}

function serviceObject(key: string, service: ModelService): object {
  const { annotations, labels, local, hints, headless, families, version } = service;
  return {
    metadata: metadata(key, version, {
      labels: { ...labels, revision: String(version) },
      annotations,
    }),
    spec: {
      clusterIP: headless ? 'None' : '10.96.0.1',
      ...(families === undefined ? {} : { ipFamilies: families }),
      type: 'ClusterIP',
      internalTrafficPolicy: local === 'internal' ? 'Local' : 'Cluster',
      externalTrafficPolicy: local === 'external' ? 'Local' : 'Cluster',
      ports: service.ports.map((port) => ({ name: port.slice(4), protocol: 'TCP', port: 80 })),
      ...(hints ? { trafficDistribution: 'PreferSameZone' } : {}),
    },
  };
}

function whole(key: string, slice: ModelSlice): object {
  return sliceObject(key, slice, slice.endpoints, true);
}

/** Gives every endpoint hints, to check whether they are cut. */
function sliceObject(
  key: string,
  { service, family, ports, number = 80, version }: ModelSlice,
  endpoints: ModelSlice['endpoints'],
  hinted: boolean,
): object {
  const [, name = ''] = service.split('/');
  return {
    metadata: metadata(key, version, { labels: { 'kubernetes.io/service-name': name } }),
    addressType: family,
    endpoints: endpoints.map(({ address, node, zone, state, terminating }) => ({
      addresses: [family === 'IPv4' ? `10.0.0.${address}` : `fd00::${address}`],
      conditions: {
        ready: state === 'ready',
        serving: state !== 'gone',
        terminating: terminating ?? state === 'serving',
      },
      ...(node === '' ? {} : { nodeName: node }),
      ...(zone === '' ? {} : { zone }),
      ...(hinted ? { hints: { forZones: [{ name: 'z1' }] } } : {}),
    })),
    ports: ports.map((port) => ({ name: port.slice(4), protocol: 'TCP', port: number })),
  };
}
