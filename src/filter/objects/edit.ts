import { malformed } from '../codec/bytes/malformed.ts';
import type { ObjectBytes } from '../codec/bytes/raw-objects.ts';
import type { AddedField, Cursor, Editor, FieldAction } from '../codec/cursor.ts';
import { TRIGGER_TIME_ANNOTATION } from './api-conventions.ts';
import type { EndpointCorrection } from './pod-endpoint.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from './resource.ts';
import {
  ADDRESS,
  type AnyMessage,
  CONDITIONS,
  ENDPOINT,
  ENDPOINTS_MESSAGE,
  METADATA,
  OBJECT,
  OBJECT_META,
  SLICE,
  SUBSET,
} from './schema.ts';

/** Which endpoints of an object a client sees, and how. */
export interface EndpointsEdit {
  /**
   * Which endpoints stay: one entry per endpoint in the order of {@link EndpointsFacts.groups}, flattened;
   * 0 cuts it. Absent: all stay. A subset of an Endpoints object that loses its last address is cut too, because
   * the API does not allow an empty subset.
   */
  readonly keep?: Uint8Array;
  /** Also cut `hints` from the endpoints that stay. */
  readonly cutHints?: boolean;
}

/** How {@link Codec.edit} changes an object. The rest of it stays: in protobuf byte for byte, in JSON as a value. */
export interface Edit extends EndpointsEdit {
  /** New `metadata.resourceVersion`. Absent: it stays. Not with {@link withoutNoise} or {@link onlyAnnotations}. */
  readonly resourceVersion?: string;
  /** Changes of single endpoints, by their index in the order of {@link keep}. */
  readonly corrections?: ReadonlyMap<number, EndpointCorrection>;
  /**
   * Also cut the fields that clients do not act on: resourceVersion, generation, managedFields and the annotation
   * `endpoints.kubernetes.io/last-change-trigger-time`. Two objects with equal results are the same for kube-proxy.
   * Use the result for comparison only.
   */
  readonly withoutNoise?: boolean;
  /** Cut managedFields and all annotations but short ones of these names, and nothing else. */
  readonly onlyAnnotations?: readonly string[];
}

/** Returns an object with an edit applied; see `Codec.edit`. */
export function editObject(
  editor: Editor,
  resource: Resource,
  object: ObjectBytes,
  edit: Edit,
): ObjectBytes {
  return new ObjectEdit(editor, edit).run(resource, object);
}

/** The longest annotation that {@link Edit.onlyAnnotations} keeps, in characters: 16 label keys have 5,100. */
const MAX_ANNOTATION = 8 * 1024;

const WITH_ENDPOINTS: ReadonlyMap<string, AnyMessage> = new Map<string, AnyMessage>([
  [ENDPOINT_SLICES.kind, SLICE],
  [ENDPOINTS.kind, ENDPOINTS_MESSAGE],
]);

type ChangedEndpoint = Exclude<EndpointCorrection, 'cut'>;

/** One edit of one object. */
class ObjectEdit {
  readonly #editor: Editor;
  readonly #edit: Edit;
  /** Undefined if it cuts nothing. */
  readonly #keep: Uint8Array | undefined;
  /** The version that is to be written, until it is. */
  #version: string | undefined;
  /** Number of endpoints so far. */
  #endpoints = 0;

  constructor(editor: Editor, edit: Edit) {
    this.#editor = editor;
    this.#edit = edit;
    this.#keep = edit.keep?.includes(0) === true ? edit.keep : undefined;
    this.#version = edit.resourceVersion;
  }

  run({ kind }: Resource, object: ObjectBytes): ObjectBytes {
    const { cutHints = false, corrections, withoutNoise = false } = this.#edit;
    const editsEndpoints = cutHints || this.#keep !== undefined || (corrections?.size ?? 0) > 0;
    const message = (editsEndpoints && WITH_ENDPOINTS.get(kind)) || OBJECT;
    const edited = this.#editor.object(
      object,
      message,
      withoutNoise,
      (field) => this.#root(field),
      () => this.#missingMetadata(),
    );
    if (message !== OBJECT) this.#assertMask();
    return edited;
  }

  /** Throws when the mask was made for another object: some endpoints would pass unfiltered. */
  #assertMask(): void {
    if (this.#keep === undefined || this.#keep.length === this.#endpoints) return;
    const made = `a decision about ${this.#keep.length} endpoints`;
    throw malformed(`${made} for an object with ${this.#endpoints}`, 0);
  }

  #root(field: Cursor): FieldAction {
    switch (field.field) {
      case METADATA:
        return this.#metadata(field);
      case SLICE.endpoints:
        return this.#endpoint(field);
      case ENDPOINTS_MESSAGE.subsets:
        return this.#subset(field);
      default:
        return 'keep';
    }
  }

  #metadata(metadata: Cursor): FieldAction {
    const { resourceVersion, withoutNoise = false, onlyAnnotations } = this.#edit;
    if (onlyAnnotations !== undefined) {
      return this.#editor.message(metadata, (part) => this.#reduced(part, onlyAnnotations));
    }
    if (withoutNoise) return this.#editor.message(metadata, (part) => this.#withoutNoise(part));
    if (resourceVersion === undefined) return 'keep';
    return this.#editor.message(
      metadata,
      ({ field }) => (field === OBJECT_META.resourceVersion ? this.#writeVersion() : 'keep'),
      () => this.#missingVersion(),
    );
  }

  #reduced(field: Cursor, names: readonly string[]): FieldAction {
    if (field.field === OBJECT_META.managedFields) return 'cut';
    if (field.field !== OBJECT_META.annotations) return 'keep';
    return this.#editor.entries(
      field,
      (key, value) => names.includes(key) && value.length <= MAX_ANNOTATION,
    );
  }

  #withoutNoise(field: Cursor): FieldAction {
    switch (field.field) {
      case OBJECT_META.resourceVersion:
      case OBJECT_META.generation:
      case OBJECT_META.managedFields:
        return 'cut';
      case OBJECT_META.annotations:
        return this.#editor.entries(field, (key) => key !== TRIGGER_TIME_ANNOTATION);
      default:
        return 'keep';
    }
  }

  /** Writes the version in place of the first one. Of several, one is enough. */
  #writeVersion(): FieldAction {
    const value = this.#takeVersion();
    return value === undefined ? 'cut' : { value };
  }

  #missingVersion(): readonly AddedField[] {
    const value = this.#takeVersion();
    return value === undefined ? [] : [{ field: OBJECT_META.resourceVersion, value }];
  }

  #takeVersion(): string | undefined {
    const version = this.#version;
    this.#version = undefined;
    return version;
  }

  #missingMetadata(): readonly AddedField[] {
    const resourceVersion = this.#version;
    return resourceVersion === undefined ? [] : [{ field: METADATA, value: { resourceVersion } }];
  }

  /** What becomes of an endpoint: `keep`, `cut`, or its correction. */
  #fate(index: number): 'keep' | EndpointCorrection {
    if (this.#keep?.[index] === 0) return 'cut';
    return this.#edit.corrections?.get(index) ?? 'keep';
  }

  /** An endpoint of a slice. */
  #endpoint(endpoint: Cursor): FieldAction {
    const fate = this.#fate(this.#endpoints++);
    if (fate === 'cut') return 'cut';
    if (fate !== 'keep') return this.#correctEndpoint(endpoint, fate);
    return this.#edit.cutHints === true ? this.#editor.message(endpoint, cutHints) : 'keep';
  }

  #correctEndpoint(endpoint: Cursor, { address, notReady = false }: ChangedEndpoint): FieldAction {
    let hasConditions = false;
    return this.#editor.message(
      endpoint,
      (part) => {
        if (part.field === ENDPOINT.addresses && address !== undefined) return 'cut';
        if (part.field === ENDPOINT.conditions && notReady) {
          hasConditions = true;
          return this.#editor.message(part, cutReady, addNotReady);
        }
        return this.#edit.cutHints === true ? cutHints(part) : 'keep';
      },
      () => [
        ...(address === undefined ? [] : [{ field: ENDPOINT.addresses, value: address }]),
        ...(notReady && !hasConditions ? [{ field: ENDPOINT.conditions, value: NOT_READY }] : []),
      ],
    );
  }

  #subset(subset: Cursor): FieldAction {
    const { ready, all } = countAddresses(subset.enter());
    // The facts have all ready addresses before the others, in whatever order they are in the bytes.
    let nextReady = this.#endpoints;
    let nextOther = this.#endpoints + ready;
    this.#endpoints += all;
    let left = all;
    const moved: AddedField[] = [];
    const edited = this.#editor.message(
      subset,
      (part) => {
        const isReady = part.field === SUBSET.addresses;
        if (!isReady && part.field !== SUBSET.notReadyAddresses) return 'keep';
        const fate = this.#fate(isReady ? nextReady++ : nextOther++);
        if (fate === 'cut') left--;
        if (typeof fate === 'string') return fate;
        const action = this.#correctAddress(part, fate);
        if (!isReady || fate.notReady !== true) return action;
        const value = typeof action === 'string' ? part.encoded() : action.value;
        moved.push({ field: SUBSET.notReadyAddresses, value });
        return 'cut';
      },
      () => moved,
    );
    // The API does not allow an empty subset. One that never had an address stays.
    return all > 0 && left === 0 ? 'cut' : edited;
  }

  #correctAddress(field: Cursor, { address }: ChangedEndpoint): FieldAction {
    if (address === undefined) return 'keep';
    return this.#editor.message(
      field,
      (part) => (part.field === ADDRESS.ip ? 'cut' : 'keep'),
      () => [{ field: ADDRESS.ip, value: address }],
    );
  }
}

const NOT_READY = { ready: false, serving: false };

const cutHints = ({ field }: Cursor): FieldAction => (field === ENDPOINT.hints ? 'cut' : 'keep');
const cutReady = ({ field }: Cursor): FieldAction =>
  field === CONDITIONS.ready || field === CONDITIONS.serving ? 'cut' : 'keep';
const addNotReady = (): readonly AddedField[] => [
  { field: CONDITIONS.ready, value: false },
  { field: CONDITIONS.serving, value: false },
];

function countAddresses(subset: Cursor): { readonly ready: number; readonly all: number } {
  let ready = 0;
  let all = 0;
  while (subset.next()) {
    if (subset.field === SUBSET.addresses) ready++;
    if (subset.field === SUBSET.addresses || subset.field === SUBSET.notReadyAddresses) all++;
  }
  return { ready, all };
}
