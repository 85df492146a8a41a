import type { Cursor } from '../cursor.ts';
import { type FieldTable, type Message, TABLE, UNKNOWN_FIELD } from './schema.ts';

type Draft = Record<string, unknown>;

/**
 * Reads a message as a plain object with all fields of the schema. An absent field has the zero value, as in Go, but an
 * absent boolean is undefined. Use it where it is not called for each object of a list: it reads more than is needed.
 */
export function readMessage<Values>(cursor: Cursor, message: Message<Values>): Values {
  const draft = emptyDraft(message[TABLE]);
  readFields(cursor, draft);
  return draft as Values;
}

function emptyDraft({ fields }: FieldTable): Draft {
  const draft: Draft = {};
  for (const { name, type, isRepeated, message } of fields) {
    if (isRepeated) draft[name] = [];
    else if (message !== undefined) draft[name] = emptyDraft(message);
    else if (type === 'text') draft[name] = '';
    else if (type === 'number') draft[name] = 0;
    else if (type === 'map') draft[name] = new Map();
    else if (type === 'unread') draft[name] = false;
  }
  return draft;
}

function readFields(cursor: Cursor, draft: Draft): void {
  while (cursor.next()) {
    const { name, isRepeated } = cursor.field;
    if (cursor.field === UNKNOWN_FIELD) continue;
    if (isRepeated) (draft[name] as unknown[]).push(readValue(cursor, undefined));
    else draft[name] = readValue(cursor, draft[name]);
  }
}

/** @param before value of the same field so far: protobuf merges messages and maps */
function readValue(cursor: Cursor, before: unknown): unknown {
  const { type, message } = cursor.field;
  switch (type) {
    case 'text':
      return cursor.text();
    case 'bool':
      return cursor.bool();
    case 'number':
      return cursor.number();
    case 'map':
      cursor.readMap(before as Map<string, string>);
      return before;
    case 'message': {
      const draft = (before ?? emptyDraft(message as FieldTable)) as Draft;
      readFields(cursor.enter(), draft);
      return draft;
    }
    case 'unread':
      return true;
  }
}
