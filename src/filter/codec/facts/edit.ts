import { malformed } from '../bytes/malformed.ts';
import type { Edit, ObjectBytes } from '../codec.ts';
import type { AddedField, Cursor, Editor, FieldEdit } from '../cursor.ts';
import type { Format } from '../format.ts';
import { TRIGGER_TIME_ANNOTATION } from './api-conventions.ts';
import type { EndpointCorrection } from './pod-endpoint.ts';
import { ENDPOINT_SLICES, ENDPOINTS as ENDPOINTS_RESOURCE, type Resource } from './resource.ts';
import {
  ADDRESS,
  CONDITIONS,
  ENDPOINT,
  ENDPOINTS,
  METADATA,
  OBJECT,
  OBJECT_META,
  SLICE,
  SUBSET,
} from './schema.ts';

/** Returns an object with an edit applied; see `Codec.edit`. */
export function editObject(
  format: Format,
  resource: Resource,
  object: ObjectBytes,
  edit: Edit,
): ObjectBytes {
  const editor = format.editor(object);
  new ObjectEdit(format, editor, edit).run(resource);
  return editor.finish(edit.withoutNoise === true);
}

/** The longest annotation that {@link Edit.onlyAnnotations} keeps, in characters: 16 label keys have 5,100. */
const MAX_ANNOTATION = 8 * 1024;

/** One edit of one object. */
class ObjectEdit {
  readonly #format: Format;
  readonly #editor: Editor;
  readonly #edit: Edit;
  readonly #cutHints: boolean;
  /** Undefined if it cuts nothing. */
  readonly #keep: Uint8Array | undefined;
  /** Undefined if there are none. */
  readonly #corrections: ReadonlyMap<number, EndpointCorrection> | undefined;
  /** The version that is to be written, until it is. */
  #version: string | undefined;
  /** Number of endpoints so far. */
  #endpoints = 0;

  constructor(format: Format, editor: Editor, edit: Edit) {
    this.#format = format;
    this.#editor = editor;
    this.#edit = edit;
    this.#cutHints = edit.cutHints === true;
    this.#keep = edit.keep?.includes(0) === true ? edit.keep : undefined;
    this.#corrections = edit.corrections?.size === 0 ? undefined : edit.corrections;
    this.#version = edit.resourceVersion;
  }

  run({ kind }: Resource): void {
    const changesEndpoints = this.#keep !== undefined || this.#corrections !== undefined;
    if (kind === ENDPOINT_SLICES.kind && (changesEndpoints || this.#cutHints)) {
      this.#editor.object(
        SLICE,
        (each) => (each.field === SLICE.endpoints ? this.#endpoint(each) : this.#root(each)),
        () => this.#missingMetadata(),
      );
      this.#assertMask();
    } else if (kind === ENDPOINTS_RESOURCE.kind && changesEndpoints) {
      this.#editor.object(
        ENDPOINTS,
        (each) => (each.field === ENDPOINTS.subsets ? this.#subset(each) : this.#root(each)),
        () => this.#missingMetadata(),
      );
      this.#assertMask();
    } else {
      this.#editor.object(
        OBJECT,
        (each) => this.#root(each),
        () => this.#missingMetadata(),
      );
    }
  }

  /** Throws when the mask was made for another object: some endpoints would pass unfiltered. */
  #assertMask(): void {
    if (this.#keep === undefined || this.#keep.length === this.#endpoints) return;
    const made = `a decision about ${this.#keep.length} endpoints`;
    throw malformed(`${made} for an object with ${this.#endpoints}`, 0);
  }

  #root(field: Cursor): FieldEdit {
    const { resourceVersion, withoutNoise = false, onlyAnnotations } = this.#edit;
    if (field.field !== METADATA) return 'keep';
    const isEdited = resourceVersion !== undefined || withoutNoise || onlyAnnotations !== undefined;
    if (!isEdited) return 'keep';
    return this.#editor.message(
      field,
      (each) => this.#metadata(each),
      () => this.#missingVersion(),
    );
  }

  #metadata(field: Cursor): FieldEdit {
    const noise = this.#edit.withoutNoise === true ? 'cut' : 'keep';
    const { onlyAnnotations } = this.#edit;
    if (onlyAnnotations !== undefined) {
      if (field.field === OBJECT_META.managedFields) return 'cut';
      if (field.field !== OBJECT_META.annotations) return 'keep';
      return this.#editor.keepKeys(field, onlyAnnotations, MAX_ANNOTATION);
    }
    switch (field.field) {
      case OBJECT_META.resourceVersion: {
        const text = this.#version;
        this.#version = undefined;
        // Of several, one is enough.
        return text === undefined ? 'cut' : { text };
      }
      case OBJECT_META.generation:
      case OBJECT_META.managedFields:
        return noise;
      case OBJECT_META.annotations:
        return noise === 'cut' ? this.#editor.cutKey(field, TRIGGER_TIME_ANNOTATION) : 'keep';
      default:
        return 'keep';
    }
  }

  #missingVersion(): readonly AddedField[] {
    const value = this.#version;
    this.#version = undefined;
    return value === undefined ? [] : [{ field: OBJECT_META.resourceVersion, value }];
  }

  #missingMetadata(): readonly AddedField[] {
    const resourceVersion = this.#version;
    if (resourceVersion === undefined) return [];
    return [{ field: METADATA, value: this.#format.encode(OBJECT_META, { resourceVersion }) }];
  }

  #stays(index: number): boolean {
    return this.#keep?.[index] !== 0 && this.#corrections?.get(index) !== 'cut';
  }

  /** How an endpoint that stays is corrected. */
  #correction(index: number): Exclude<EndpointCorrection, 'cut'> | undefined {
    const correction = this.#corrections?.get(index);
    return correction === 'cut' ? undefined : correction;
  }

  /** An endpoint of a slice. */
  #endpoint(field: Cursor): FieldEdit {
    const index = this.#endpoints++;
    if (!this.#stays(index)) return 'cut';
    const correction = this.#correction(index);
    if (correction !== undefined) return this.#correctEndpoint(field, correction);
    if (!this.#cutHints) return 'keep';
    return this.#editor.message(field, this.#cutHint);
  }

  /** Made once, because it is passed for each endpoint. */
  readonly #cutHint = ({ field }: Cursor): FieldEdit =>
    this.#cutHints && field === ENDPOINT.hints ? 'cut' : 'keep';

  #correctEndpoint(
    field: Cursor,
    { address, notReady }: Exclude<EndpointCorrection, 'cut'>,
  ): FieldEdit {
    const missing = new Map<string, AddedField>();
    if (address !== undefined)
      missing.set('address', { field: ENDPOINT.addresses, value: address });
    if (notReady === true) {
      const value = this.#format.encode(CONDITIONS, NOT_READY);
      missing.set('conditions', { field: ENDPOINT.conditions, value });
    }
    return this.#editor.message(
      field,
      (each) => {
        if (each.field === ENDPOINT.addresses && address !== undefined) {
          return missing.delete('address') ? { text: address } : 'cut';
        }
        if (each.field === ENDPOINT.conditions && notReady === true) {
          missing.delete('conditions');
          return this.#makeNotReady(each);
        }
        return this.#cutHint(each);
      },
      () => [...missing.values()],
    );
  }

  #makeNotReady(conditions: Cursor): FieldEdit {
    return this.#editor.message(
      conditions,
      ({ field }) => (field === CONDITIONS.ready || field === CONDITIONS.serving ? 'cut' : 'keep'),
      () => [
        { field: CONDITIONS.ready, value: false },
        { field: CONDITIONS.serving, value: false },
      ],
    );
  }

  #subset(field: Cursor): FieldEdit {
    const { ready, all } = countAddresses(field.enter());
    const first = this.#endpoints;
    this.#endpoints += all;
    const indexes = Array.from({ length: all }, (_, index) => first + index);
    // The API does not allow an empty subset. One that never had an address stays.
    if (all > 0 && !indexes.some((index) => this.#stays(index))) return 'cut';
    if (!indexes.some((index) => !this.#stays(index) || this.#correction(index))) return 'keep';
    // The facts have all ready addresses before the others, in whatever order they are in the bytes.
    let nextReady = first;
    let nextOther = first + ready;
    const moved: AddedField[] = [];
    return this.#editor.message(
      field,
      (each) => {
        if (each.field === SUBSET.addresses) return this.#address(each, nextReady++, moved);
        if (each.field === SUBSET.notReadyAddresses) return this.#address(each, nextOther++, moved);
        return 'keep';
      },
      () => moved,
    );
  }

  /** @param moved receives a ready address that becomes not ready */
  #address(field: Cursor, index: number, moved: AddedField[]): FieldEdit {
    if (!this.#stays(index)) return 'cut';
    const correction = this.#correction(index);
    if (correction === undefined) return 'keep';
    const { address: text, notReady } = correction;
    let isMissing = text !== undefined;
    const editIp = (each: Cursor): FieldEdit => {
      if (each.field !== ADDRESS.ip || text === undefined) return 'keep';
      isMissing = false;
      return { text };
    };
    const addIp = () => (isMissing ? [{ field: ADDRESS.ip, value: text ?? '' }] : []);
    if (notReady !== true || field.field !== SUBSET.addresses) {
      return this.#editor.message(field, editIp, addIp);
    }
    const value = this.#editor.copy(field, editIp, addIp);
    moved.push({ field: SUBSET.notReadyAddresses, value });
    return 'cut';
  }
}

const NOT_READY = { ready: false, serving: false };

function countAddresses(subset: Cursor): { readonly ready: number; readonly all: number } {
  let ready = 0;
  let all = 0;
  while (subset.next()) {
    if (subset.field === SUBSET.addresses) ready++;
    if (subset.field === SUBSET.addresses || subset.field === SUBSET.notReadyAddresses) all++;
  }
  return { ready, all };
}
