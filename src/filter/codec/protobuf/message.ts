import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { MessageValue } from '../cursor.ts';
import { type AnyMessage, type FieldTable, TABLE } from '../facts/schema.ts';

/** Encodes a message; see `Format.encode`. */
export function encodeMessage(message: AnyMessage, value: MessageValue): Buffer {
  const writer = new BinaryWriter();
  writeFields(writer, message[TABLE], value);
  return Buffer.from(writer.finish());
}

function writeFields(writer: BinaryWriter, { fields }: FieldTable, value: MessageValue): void {
  for (const { name, number, message } of fields) {
    const values = value[name];
    for (const each of Array.isArray(values) ? values : [values]) {
      if (typeof each === 'string') writer.tag(number, WireType.LengthDelimited).string(each);
      if (typeof each === 'number') writer.tag(number, WireType.Varint).int32(each);
      if (typeof each === 'boolean') writer.tag(number, WireType.Varint).bool(each);
      if (message === undefined || each === undefined) continue;
      writer.tag(number, WireType.LengthDelimited).fork();
      writeFields(writer, message, each as MessageValue);
      writer.join();
    }
  }
}
