import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Encoding } from '../../../src/filter/codec/codec.ts';
import type {
  ModelAddress,
  ModelEndpoint,
  ModelEndpoints,
  ModelMeta,
  ModelPort,
  ModelSlice,
  ModelSubset,
} from './codec-model.ts';

/** Encodes a model with @bufbuild/protobuf or JSON.stringify only, without the code under test. */
export interface ModelEncoder {
  slice(model: ModelSlice): Buffer;
  endpoints(model: ModelEndpoints): Buffer;
}

export function encoderOf(encoding: Encoding): ModelEncoder {
  return encoding === 'json' ? jsonEncoder : protobufEncoder;
}

const LEN = WireType.LengthDelimited;

function message(w: BinaryWriter, field: number, write: () => void): void {
  w.tag(field, LEN).fork();
  write();
  w.join();
}

function texts(w: BinaryWriter, fields: readonly (readonly [number, string | undefined])[]): void {
  for (const [field, value] of fields) if (value !== undefined) w.tag(field, LEN).string(value);
}

function unknownFields(w: BinaryWriter, unknown: boolean): void {
  if (!unknown) return;
  w.tag(200, WireType.Varint).uint64('18446744073709551615');
  w.tag(201, LEN).string('\u0012\u0000 not a field');
  w.tag(202, WireType.Bit64).fixed64('1');
  w.tag(203, WireType.Bit32).fixed32(2);
}

function dictionary(w: BinaryWriter, field: number, map: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(map)) {
    message(w, field, () =>
      texts(w, [
        [1, key],
        [2, value],
      ]),
    );
  }
}

function metadata(w: BinaryWriter, meta: ModelMeta | undefined): void {
  if (meta === undefined) return;
  message(w, 1, () => {
    unknownFields(w, meta.unknown);
    texts(w, [
      [1, meta.name],
      [3, meta.namespace],
      [5, meta.uid],
      [6, meta.resourceVersion || undefined],
    ]);
    if (meta.generation !== undefined) w.tag(7, WireType.Varint).int64(meta.generation);
    dictionary(w, 11, meta.labels);
    dictionary(w, 12, meta.annotations ?? {});
    if (meta.managed) message(w, 17, () => texts(w, [[1, 'kubectl']]));
  });
}

/** @param fields numbers of the fields, which differ between EndpointSlice and Endpoints */
function ports(
  w: BinaryWriter,
  all: readonly ModelPort[],
  fields: { readonly protocol: number; readonly port: number },
): void {
  for (const { name, protocol, port } of all) {
    message(w, 3, () => {
      texts(w, [
        [1, name],
        [fields.protocol, protocol],
      ]);
      if (port !== undefined) w.tag(fields.port, WireType.Varint).int32(port);
    });
  }
}

function endpoint(w: BinaryWriter, each: ModelEndpoint): void {
  unknownFields(w, each.unknown);
  texts(w, [[1, each.address]]);
  message(w, 2, () => {
    const conditions = [each.ready, each.serving, each.terminating];
    conditions.forEach((condition, index) => {
      if (condition !== undefined) w.tag(index + 1, WireType.Varint).bool(condition);
    });
  });
  if (each.deprecatedZone !== undefined) {
    dictionary(w, 5, { other: 'x', 'topology.kubernetes.io/zone': each.deprecatedZone });
  }
  texts(w, [
    [6, each.node],
    [7, each.zone],
  ]);
  if (each.hinted) message(w, 8, () => message(w, 1, () => texts(w, [[1, 'z1']])));
}

function address(w: BinaryWriter, field: number, each: ModelAddress): void {
  message(w, field, () => {
    unknownFields(w, each.unknown);
    texts(w, [
      [1, each.ip],
      [4, each.node],
    ]);
  });
}

function subset(w: BinaryWriter, each: ModelSubset): void {
  for (const ready of each.ready) address(w, 1, ready);
  unknownFields(w, each.unknown);
  for (const notReady of each.notReady) address(w, 2, notReady);
  ports(w, each.ports, { port: 2, protocol: 3 });
}

const protobufEncoder: ModelEncoder = {
  slice(model) {
    const w = new BinaryWriter();
    metadata(w, model.meta);
    for (const each of model.endpoints) message(w, 2, () => endpoint(w, each));
    unknownFields(w, model.unknown);
    ports(w, model.ports, { protocol: 2, port: 3 });
    texts(w, [[4, model.addressType]]);
    return Buffer.from(w.finish());
  },
  endpoints(model) {
    const w = new BinaryWriter();
    metadata(w, model.meta);
    unknownFields(w, model.unknown);
    for (const each of model.subsets) message(w, 2, () => subset(w, each));
    return Buffer.from(w.finish());
  },
};

/** Replaced by a number that JavaScript cannot represent, which JSON.stringify cannot write. */
const BIG = '@big@';

function unknownMembers(unknown: boolean): Record<string, unknown> {
  return unknown ? { future: { '}': [BIG, null, -1.5e-7, 'x"]'], nested: [[{}], []] } } : {};
}

function jsonMeta(meta: ModelMeta | undefined): Record<string, unknown> | undefined {
  if (meta === undefined) return undefined;
  return {
    ...unknownMembers(meta.unknown),
    name: meta.name,
    namespace: meta.namespace,
    uid: meta.uid,
    resourceVersion: meta.resourceVersion || undefined,
    generation: meta.generation,
    labels: meta.labels,
    annotations: meta.annotations,
    managedFields: meta.managed ? [{ manager: 'kubectl' }] : undefined,
  };
}

function jsonEndpoint({ ready, serving, terminating, ...each }: ModelEndpoint): unknown {
  return {
    hints: each.hinted ? { forZones: [{ name: 'z1' }] } : undefined,
    addresses: [each.address],
    conditions: { ready, serving, terminating },
    ...unknownMembers(each.unknown),
    nodeName: each.node,
    zone: each.zone,
    deprecatedTopology:
      each.deprecatedZone === undefined
        ? undefined
        : { other: 'x', 'topology.kubernetes.io/zone': each.deprecatedZone },
  };
}

function jsonAddress({ ip, node, unknown }: ModelAddress): unknown {
  return { ip, ...unknownMembers(unknown), nodeName: node };
}

function jsonBytes(value: unknown): Buffer {
  const json = JSON.stringify(value).replaceAll(`"${BIG}"`, '12345678901234567890.10E+3');
  return Buffer.from(json);
}

const jsonEncoder: ModelEncoder = {
  slice: (model) =>
    jsonBytes({
      metadata: jsonMeta(model.meta),
      addressType: model.addressType,
      endpoints: model.endpoints.map(jsonEndpoint),
      ...unknownMembers(model.unknown),
      ports: model.ports,
    }),
  endpoints: (model) =>
    jsonBytes({
      metadata: jsonMeta(model.meta),
      ...unknownMembers(model.unknown),
      subsets: model.subsets.map((each) => ({
        addresses: each.ready.map(jsonAddress),
        ...unknownMembers(each.unknown),
        notReadyAddresses: each.notReady.map(jsonAddress),
        ports: each.ports,
      })),
    }),
};
