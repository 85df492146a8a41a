/*
 * The schema: the messages of Kubernetes of which this program reads or edits fields. A field has its JSON name and its
 * protobuf number, so one reader serves both encodings. All other fields are passed on unread.
 */

/** A field of a message. A cursor returns the same object for the field in both encodings. */
export interface Field {
  /** Name in JSON. */
  readonly name: string;
  /** Number in protobuf. */
  readonly number: number;
  /** A list: an array in JSON, any number of fields in protobuf. */
  readonly isRepeated: boolean;
  /** The fields of its value, if that is a message. */
  readonly message: FieldTable | undefined;
}

/** Stands for each field that is not in the schema. */
export const UNKNOWN_FIELD: Field = {
  name: '',
  number: 0,
  isRepeated: false,
  message: undefined,
};

/** The fields of a message, as cursors look them up. */
export class FieldTable {
  /** All fields, in the order of the schema. */
  readonly fields: readonly Field[];
  readonly #byNumber: Field[] = [];
  readonly #byNameLength: Field[][] = [];

  constructor(fields: readonly Field[]) {
    this.fields = fields;
    const highest = Math.max(0, ...fields.map(({ number }) => number));
    const longest = Math.max(0, ...fields.map(({ name }) => name.length));
    for (let number = 0; number <= highest; number++) this.#byNumber.push(UNKNOWN_FIELD);
    for (let length = 0; length <= longest; length++) this.#byNameLength.push([]);
    for (const field of fields) {
      this.#byNumber[field.number] = field;
      this.#byNameLength[field.name.length]?.push(field);
    }
  }

  /** The field with this protobuf number, or {@link UNKNOWN_FIELD}. */
  numbered(number: number): Field {
    return number < this.#byNumber.length ? (this.#byNumber[number] as Field) : UNKNOWN_FIELD;
  }

  /** The field whose JSON name is the bytes in `[start, end)`, or {@link UNKNOWN_FIELD}. */
  named(bytes: Buffer, start: number, end: number): Field {
    const length = end - start;
    if (length >= this.#byNameLength.length) return UNKNOWN_FIELD;
    for (const field of this.#byNameLength[length] as Field[]) {
      if (isAscii(field.name, bytes, start)) return field;
    }
    return UNKNOWN_FIELD;
  }
}

/** The fields of a message of which nothing is read. */
export const NO_FIELDS = new FieldTable([]);

/** Whether the bytes from `start` on begin with an ASCII text. */
export function isAscii(text: string, bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}

/** The table of a message. A symbol, so that it cannot have the name of a field. */
export const TABLE = Symbol('table');

/** A message: its fields by name, and their table. */
export type Message<Name extends string = string> = Readonly<Record<Name, Field>> & {
  readonly [TABLE]: FieldTable;
};

type FieldType = Omit<Field, 'name'> & Partial<Pick<Field, 'name'>>;

/** A field with one value. */
export function one(number: number, message?: Message): FieldType {
  return { number, isRepeated: false, message: message?.[TABLE] };
}

/** A repeated field. */
export function many(number: number, message?: Message): FieldType {
  return { number, isRepeated: true, message: message?.[TABLE] };
}

/** Makes a message of its fields. A field that has a name already is shared between messages. */
export function message<Name extends string>(
  types: Readonly<Record<Name, FieldType>>,
): Message<Name> {
  const fields = Object.entries<FieldType>(types).map(([name, type]) =>
    type.name === undefined ? { ...type, name } : (type as Field),
  );
  const byName = Object.fromEntries(fields.map((field) => [field.name, field]));
  return { ...byName, [TABLE]: new FieldTable(fields) } as Message<Name>;
}

/** An entry of a map, in protobuf. */
export const MAP_ENTRY = message({ key: one(1), value: one(2) });

/** ObjectMeta (apimachinery meta/v1/generated.proto). `labels` and `annotations` are maps; see Cursor. */
export const OBJECT_META = message({
  name: one(1),
  namespace: one(3),
  uid: one(5),
  resourceVersion: one(6),
  generation: one(7),
  labels: one(11),
  annotations: one(12),
  managedFields: one(17),
});

/** `metadata`, which every kind has in the same place. */
export const METADATA: Field = { name: 'metadata', ...one(1, OBJECT_META) };

/** An object of any kind. */
export const OBJECT = message({ metadata: METADATA });

/** ListMeta (meta/v1). */
export const LIST_META = message({ selfLink: one(1), resourceVersion: one(2), continue: one(3) });

/** ServicePort (core/v1), and the same fields of EndpointPort (discovery/v1). */
export const PORT = message({ name: one(1), protocol: one(2), port: one(3) });

/** ServiceSpec (core/v1). */
export const SERVICE_SPEC = message({
  ports: many(1, PORT),
  clusterIP: one(3),
  type: one(4),
  externalTrafficPolicy: one(11),
  clusterIPs: many(18),
  internalTrafficPolicy: one(22),
  trafficDistribution: one(23),
});

/** Service (core/v1). */
export const SERVICE = message({ metadata: METADATA, spec: one(2, SERVICE_SPEC) });

/** ObjectReference (core/v1). */
export const REFERENCE = message({ kind: one(1), namespace: one(2), name: one(3), uid: one(4) });

/** EndpointConditions (discovery/v1). */
export const CONDITIONS = message({ ready: one(1), serving: one(2), terminating: one(3) });

/** Endpoint (discovery/v1). `deprecatedTopology` is a map. */
export const ENDPOINT = message({
  addresses: many(1),
  conditions: one(2, CONDITIONS),
  targetRef: one(4, REFERENCE),
  deprecatedTopology: one(5),
  nodeName: one(6),
  zone: one(7),
  hints: one(8),
});

/** EndpointSlice (discovery/v1). */
export const SLICE = message({
  metadata: METADATA,
  endpoints: many(2, ENDPOINT),
  ports: many(3, PORT),
  addressType: one(4),
});

/** EndpointAddress (core/v1). */
export const ADDRESS = message({ ip: one(1), targetRef: one(2, REFERENCE), nodeName: one(4) });

/** EndpointPort (core/v1). */
export const SUBSET_PORT = message({ name: one(1), port: one(2), protocol: one(3) });

/** EndpointSubset (core/v1). */
export const SUBSET = message({
  addresses: many(1, ADDRESS),
  notReadyAddresses: many(2, ADDRESS),
  ports: many(3, SUBSET_PORT),
});

/** Endpoints (core/v1). */
export const ENDPOINTS = message({ metadata: METADATA, subsets: many(2, SUBSET) });

/** StatusCause (meta/v1). */
export const CAUSE = message({ reason: one(1), message: one(2), field: one(3) });

/** StatusDetails (meta/v1). */
export const DETAILS = message({
  name: one(1),
  group: one(2),
  kind: one(3),
  causes: many(4, CAUSE),
  retryAfterSeconds: one(5),
  uid: one(6),
});

/** Status (meta/v1). */
export const STATUS = message({
  metadata: one(1, LIST_META),
  status: one(2),
  message: one(3),
  reason: one(4),
  details: one(5, DETAILS),
  code: one(6),
});
