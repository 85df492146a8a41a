import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type Field, MESSAGES } from './protobuf-schema.ts';

/**
 * Encodes an object in its JSON form as the protobuf message `type`, byte for byte as a kube-apiserver does. Fields
 * that are not in the schema are omitted, as by an older server. Throws a `TypeError` that names the field for a value
 * of the wrong type.
 */
export function encodeMessage(type: string, value: unknown): Buffer {
  const writer = new BinaryWriter();
  writeMessage(writer, type, value, type);
  const bytes = writer.finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function writeMessage(writer: BinaryWriter, type: string, value: unknown, path: string): void {
  const fields = MESSAGES.get(type);
  if (fields === undefined) throw new TypeError(`${path}: no message ${type} in the schema`);
  const record = asRecord(value, path);
  for (const field of fields) writeField(writer, field, record[field.name], path);
}

function writeField(writer: BinaryWriter, field: Field, value: unknown, parent: string): void {
  const path = `${parent}.${field.name}`;
  if (field.presence === 'always') {
    writeValue(writer, field, value, path);
  } else if (value === undefined || value === null) {
    // An absent pointer, slice or map is not written.
  } else if (field.presence === 'optional') {
    writeValue(writer, field, value, path);
  } else if (field.presence === 'list') {
    if (!Array.isArray(value)) throw new TypeError(`${path}: not an array`);
    value.forEach((item, index) => {
      writeValue(writer, field, item, `${path}[${index}]`);
    });
  } else {
    writeMap(writer, field, asRecord(value, path), path);
  }
}

/** A map is a list of messages {1 key, 2 value}. gogo sorts them, so that equal objects have equal bytes. */
function writeMap(
  writer: BinaryWriter,
  field: Field,
  map: Readonly<Record<string, unknown>>,
  path: string,
): void {
  for (const key of Object.keys(map).sort()) {
    writer.tag(field.number, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(key);
    writeValue(writer, { ...field, number: 2 }, map[key], `${path}.${key}`);
    writer.join();
  }
}

function writeValue(writer: BinaryWriter, field: Field, value: unknown, path: string): void {
  const { number, type } = field;
  switch (type) {
    case 'string':
      writer.tag(number, WireType.LengthDelimited).string(asString(value ?? '', path));
      return;
    case 'bool':
      writer.tag(number, WireType.Varint).bool(asBoolean(value ?? false, path));
      return;
    case 'int32':
    case 'int64':
      // int32 is sign-extended to 64 bits on the wire, so both are written alike.
      writer.tag(number, WireType.Varint).int64(asInteger(value ?? 0, path));
      return;
    default:
      writer.tag(number, WireType.LengthDelimited).fork();
      (SPECIAL[type] ?? messageWriter(type))(writer, value, path);
      writer.join();
  }
}

type ValueWriter = (writer: BinaryWriter, value: unknown, path: string) => void;

function messageWriter(type: string): ValueWriter {
  return (writer, value, path) => writeMessage(writer, type, value ?? {}, path);
}

/** Types whose JSON form is not an object with the fields of their message. */
const SPECIAL: Readonly<Record<string, ValueWriter>> = {
  /** Timestamp {1 seconds, 2 nanos}; the zero time is an empty message (apimachinery time_proto.go). */
  Time(writer, value, path) {
    if (value === undefined || value === null) return;
    const millis = Date.parse(asString(value, path));
    if (Number.isNaN(millis)) throw new TypeError(`${path}: not a time`);
    // metav1.Time has seconds only.
    writer.tag(1, WireType.Varint).int64(Math.floor(millis / 1000));
    writer.tag(2, WireType.Varint).int32(0);
  },
  /** {1 type: 0 a number or 1 a string, 2 intVal, 3 strVal}, all written (intstr generated.pb.go). */
  IntOrString(writer, value, path) {
    const named = typeof value === 'string';
    writer.tag(1, WireType.Varint).int32(named ? 1 : 0);
    writer.tag(2, WireType.Varint).int64(named ? 0 : asInteger(value ?? 0, path));
    writer.tag(3, WireType.LengthDelimited).string(named ? value : '');
  },
  /** {1 Raw}: the JSON text itself. */
  FieldsV1(writer, value) {
    writer.tag(1, WireType.LengthDelimited).string(JSON.stringify(value));
  },
  /** {1 string}; JSON also allows a number. */
  Quantity(writer, value) {
    writer.tag(1, WireType.LengthDelimited).string(String(value));
  },
};

function asRecord(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError(`${path}: not an object`);
  }
  return value as Record<string, unknown>; // any other object has string keys
}

function asString(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new TypeError(`${path}: not a string`);
  return value;
}

function asBoolean(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw new TypeError(`${path}: not a boolean`);
  return value;
}

function asInteger(value: unknown, path: string): number {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${path}: not an integer`);
  return Number(value);
}
