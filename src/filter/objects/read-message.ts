import type { Cursor } from '../codec/cursor.ts';
import { EMPTY_LIST, EMPTY_MAP, type Message, TABLE, UNKNOWN_FIELD } from './schema.ts';

/**
 * Reads a message as a plain object with all fields of the schema. An absent field has the zero value, as in Go, but an
 * absent boolean is undefined. Empty values are shared, so an absent field costs no memory.
 *
 * @param onElement called for each message of a list, before it is read
 */
export function readMessage<Values>(
  cursor: Cursor,
  message: Message<Values>,
  onElement?: () => void,
): Values {
  return readFields(cursor, message[TABLE].zero as Values, onElement);
}

/** @param before values so far, which stay as they are */
export function readFields<Values>(cursor: Cursor, before: Values, onElement?: () => void): Values {
  const values = { ...before } as Record<string, unknown>;
  while (cursor.next()) {
    const { field } = cursor;
    if (field === UNKNOWN_FIELD) continue;
    const { name, isRepeated } = field;
    if (!isRepeated) {
      values[name] = readValue(cursor, values[name], onElement);
      continue;
    }
    if (field.message !== undefined) onElement?.();
    const value = field.read
      ? field.read(cursor.enter() as never)
      : readValue(cursor, field.message?.zero, onElement);
    if (values[name] === EMPTY_LIST) values[name] = [value];
    else (values[name] as unknown[]).push(value);
  }
  return values as Values;
}

/** @param before value of the same field so far: protobuf merges messages and maps */
function readValue(cursor: Cursor, before: unknown, onElement?: () => void): unknown {
  switch (cursor.field.type) {
    case 'text':
      return cursor.text();
    case 'bool':
      return cursor.bool();
    case 'number':
      return cursor.number();
    case 'map': {
      const map = before === EMPTY_MAP ? new Map<string, string>() : before;
      cursor.readMap(map as Map<string, string>);
      return map;
    }
    case 'message':
      return readFields(cursor.enter(), before, onElement);
    case 'bytes':
      return cursor.encoded();
    case 'unread':
      return true;
  }
}
