import type { AnyMessage } from '../objects/schema.ts';
import type { Encoding, ObjectBytes } from './bytes/raw-objects.ts';
import type { Cursor, Editor } from './cursor.ts';
import { JsonCursor } from './json/json-cursor.ts';
import { JSON_EDITOR } from './json/json-editor.ts';
import { OPEN_OBJECT } from './json/json-scanner.ts';
import { parseObject } from './json/json-value.ts';
import { FieldCursor } from './protobuf/field-cursor.ts';
import { PROTOBUF_EDITOR } from './protobuf/protobuf-editor.ts';

/**
 * The encoding of an object. A brace would be the tag of field 15 as a group in protobuf, which Kubernetes does not
 * use.
 */
export function encodingOf(object: ObjectBytes): Encoding {
  return object[0] === OPEN_OBJECT ? 'json' : 'protobuf';
}

/** A cursor before the first field of an object. */
export function cursorOf(object: ObjectBytes, message: AnyMessage): Cursor {
  if (encodingOf(object) === 'protobuf') return FieldCursor.over(object, message);
  return JsonCursor.over(parseObject(object, 0), message);
}

/** The editor of the encoding of an object. */
export function editorOf(object: ObjectBytes): Editor {
  return encodingOf(object) === 'json' ? JSON_EDITOR : PROTOBUF_EDITOR;
}
