import type { AddedField, AddFields, Cursor, EditField, Editor, FieldEdit } from '../cursor.ts';
import { Patch } from '../patch.ts';
import { type AnyMessage, type Field, UNKNOWN_FIELD } from '../schema.ts';
import { JsonCursor, type Sibling } from './json-cursor.ts';
import { OPEN_OBJECT } from './json-text.ts';

const NONE = (): readonly AddedField[] => [];

/** Edits JSON: replaces values, and removes members and elements with their commas. */
export class JsonEditor implements Editor {
  readonly #bytes: Buffer;
  readonly #patch = new Patch();

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  object(message: AnyMessage, edit: EditField, add: AddFields = NONE): void {
    const object = JsonCursor.over(this.#bytes, message);
    this.#edit(object, object.json.skipSpace(0), edit, add);
  }

  message(field: Cursor, edit: EditField, add: AddFields = NONE): FieldEdit {
    this.#edit(field.enter() as JsonCursor, field.start, edit, add);
    return 'keep';
  }

  copy(field: Cursor, edit: EditField, add: AddFields = NONE): Buffer {
    const editor = new JsonEditor(this.#bytes);
    editor.message(field, edit, add);
    return editor.#patch.apply(this.#bytes, field.start, field.end);
  }

  cutKey(field: Cursor, key: string): FieldEdit {
    const map = field as JsonCursor;
    let others = 0;
    map.eachEntry((entry) => {
      if (!map.isKey(entry, key)) others++;
    });
    if (others === 0) return 'cut';
    const entries = new Siblings(this.#patch);
    map.eachEntry((entry) => {
      if (map.isKey(entry, key)) entries.cut(entry);
      else entries.keep();
    });
    return 'keep';
  }

  finish(transient: boolean): Buffer {
    return this.#patch.finish(this.#bytes, transient);
  }

  /** @param start offset of the message, an object or null */
  #edit(message: JsonCursor, start: number, edit: EditField, add: AddFields): void {
    const members = new Siblings(this.#patch);
    const lists = new Map<Field, List>();
    while (message.nextMember()) {
      const { field } = message;
      if (field === UNKNOWN_FIELD) members.keep();
      else if (message.isReplaced) members.cut(message);
      else if (field.isRepeated) {
        lists.set(field, this.#editElements(message, edit));
        members.keep();
      } else this.#apply(edit(message), members, message);
    }
    const added = [...this.#addElements(lists, add())].map(
      ([name, value]) => `${JSON.stringify(name)}:${value}`,
    );
    if (added.length === 0) return;
    if (this.#bytes[start] !== OPEN_OBJECT) this.#replace(start, message.limit, `{${added}}`);
    else this.#insert(message.limit - 1, members.areKept, added);
  }

  #editElements(array: JsonCursor, edit: EditField): List {
    const { start, memberEnd, isNull } = array;
    const elements = new Siblings(this.#patch);
    while (!isNull && array.nextElement()) this.#apply(edit(array), elements, array);
    return { start, end: memberEnd, isNull, areKept: elements.areKept };
  }

  #apply(result: FieldEdit, siblings: Siblings, current: JsonCursor): void {
    if (result === 'cut') {
      siblings.cut(current);
      return;
    }
    siblings.keep();
    if (result !== 'keep') this.#replace(current.start, current.end, JSON.stringify(result.text));
  }

  /** Adds elements to the lists that the message has. Returns the members to add: name and value. */
  #addElements(
    lists: ReadonlyMap<Field, List>,
    added: readonly AddedField[],
  ): ReadonlyMap<string, string> {
    const members = new Map<string, string>();
    for (const field of new Set(added.map((each) => each.field))) {
      const values = added
        .filter((each) => each.field === field)
        .map(({ value }) => (typeof value === 'string' ? JSON.stringify(value) : String(value)));
      const list = lists.get(field);
      if (!field.isRepeated) members.set(field.name, String(values.at(-1)));
      else if (list === undefined) members.set(field.name, `[${values}]`);
      else if (list.isNull) this.#replace(list.start, list.end, `[${values}]`);
      else this.#insert(list.end - 1, list.areKept, values);
    }
    return members;
  }

  #insert(at: number, areOthers: boolean, values: readonly string[]): void {
    this.#replace(at, at, `${areOthers ? ',' : ''}${values}`);
  }

  #replace(start: number, end: number, json: string): void {
    this.#patch.replace(start, end, Buffer.from(json));
  }
}

/** An array of a message. */
interface List {
  readonly start: number;
  readonly end: number;
  readonly isNull: boolean;
  /** Whether any of its elements stays. */
  readonly areKept: boolean;
}

/**
 * Removes elements of an array, or members of an object, with one comma each: the comma before, or without an element
 * before that stays, the comma after. Called for each in order.
 */
class Siblings {
  readonly #patch: Patch;
  /** Whether any stays so far. */
  areKept = false;

  constructor(patch: Patch) {
    this.#patch = patch;
  }

  keep(): void {
    this.areKept = true;
  }

  cut({ previousEnd, fieldStart, end, nextStart }: Sibling): void {
    if (this.areKept) this.#patch.cut(previousEnd, end);
    else this.#patch.cut(fieldStart, nextStart);
  }
}
