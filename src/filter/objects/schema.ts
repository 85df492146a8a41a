/*
 * The schema: the messages of Kubernetes of which this program reads or edits fields. A field has its JSON name and its
 * protobuf number, so one reader serves both encodings. All other fields are passed on unread.
 */

/** How the value of a field is read; `unread`: it is passed on or cut, not read. */
type ValueType = 'text' | 'bool' | 'number' | 'map' | 'message' | 'bytes' | 'unread';

/** A field of a message. A cursor returns the same object for the field in both encodings. */
export interface Field<Value = unknown> {
  /** Name in JSON. */
  readonly name: string;
  /** Number in protobuf. */
  readonly number: number;
  readonly type: ValueType;
  /** A list: an array in JSON, any number of fields in protobuf. */
  readonly isRepeated: boolean;
  /** The fields of a message. */
  readonly message: FieldTable | undefined;
  /** Reads an element of a list of messages, from a Cursor; undefined: as an object with all fields. */
  readonly read: ((element: never) => unknown) | undefined;
  /** Only for the compiler: what {@link readMessage} returns for it. */
  readonly value?: Value;
}

/** Stands for each field that is not in the schema. */
export const UNKNOWN_FIELD: Field = {
  name: '',
  number: 0,
  type: 'unread',
  isRepeated: false,
  message: undefined,
  read: undefined,
};

/** Values of a message, by the names of its fields. */
type AnyValues = Readonly<Record<string, unknown>>;

/** Shared by all messages that have nothing of a list or a map. */
export const EMPTY_LIST: readonly unknown[] = Object.freeze([]);
export const EMPTY_MAP: ReadonlyMap<string, string> = new Map();

/** The value of a field that is absent, as in Go, but undefined for a boolean or bytes. */
const ZERO: Readonly<Partial<Record<ValueType, unknown>>> = {
  text: '',
  number: 0,
  map: EMPTY_MAP,
  unread: false,
};

function zeroValue({ type, isRepeated, message }: Field): unknown {
  if (isRepeated) return EMPTY_LIST;
  return type === 'message' ? message?.zero : ZERO[type];
}

/** The fields of a message, as cursors look them up. */
export class FieldTable {
  /** All fields, in the order of the schema. */
  readonly fields: readonly Field[];
  /** The values of an empty message. */
  readonly zero: AnyValues;
  readonly #byNumber: Field[] = [];

  /** @param unread fields that are not read: they always have their zero values */
  constructor(fields: readonly Field[], unread: readonly Field[] = []) {
    this.fields = fields.filter((field) => !unread.includes(field));
    this.zero = Object.fromEntries(fields.map((field) => [field.name, zeroValue(field)]));
    for (const field of this.fields) this.#byNumber[field.number] = field;
  }

  /** The field with this protobuf number, or {@link UNKNOWN_FIELD}. */
  numbered(number: number): Field {
    return this.#byNumber[number] ?? UNKNOWN_FIELD;
  }
}

/** The fields of a message of which nothing is read. */
export const NO_FIELDS = new FieldTable([]);

/** The table of a message. A symbol, so that it cannot have the name of a field. */
export const TABLE = Symbol('table');

/** A message: its fields by name, and their table. */
export type Message<Values = unknown> = {
  readonly [Name in keyof Values]: Field<Values[Name]>;
} & { readonly [TABLE]: FieldTable };

/** What {@link readMessage} returns for a message. */
export type ValuesOf<M> = M extends Message<infer Values> ? Values : never;

/** A message of any fields. */
export type AnyMessage = { readonly [TABLE]: FieldTable };

type FieldType<Value> = Omit<Field<Value>, 'name'> & Partial<Pick<Field, 'name'>>;

function field<Value>(
  number: number,
  type: ValueType,
  isRepeated = false,
  message?: AnyMessage,
): FieldType<Value> {
  return { number, type, isRepeated, message: message?.[TABLE], read: undefined };
}

export const text = (number: number) => field<string>(number, 'text');
export const texts = (number: number) => field<readonly string[]>(number, 'text', true);
const bool = (number: number) => field<boolean | undefined>(number, 'bool');
export const bytes = (number: number) => field<Buffer | undefined>(number, 'bytes');
const integer = (number: number) => field<number>(number, 'number');
/** Whether there is such a field is all that is read. */
export const unread = (number: number) => field<boolean>(number, 'unread');
export const one = <Values>(number: number, message: Message<Values>) =>
  field<Values>(number, 'message', false, message);
export const many = <Values>(number: number, message: Message<Values>) =>
  field<readonly Values[]>(number, 'message', true, message);
export const unreadList = (number: number) => field<readonly true[]>(number, 'unread', true);

/** Makes a message of its fields. A field that has a name already is shared between messages. */
export function message<Values>(
  types: {
    readonly [Name in keyof Values]: FieldType<Values[Name]>;
  },
): Message<Values> {
  const fields = Object.entries<FieldType<unknown>>(types).map(([name, type]) =>
    type.name === undefined ? { ...type, name } : (type as Field),
  );
  const byName = Object.fromEntries(fields.map((each) => [each.name, each]));
  return { ...byName, [TABLE]: new FieldTable(fields) } as Message<Values>;
}

/** A message of which some fields are not read, because that takes time: they always have their zero values. */
function without<Values>(
  whole: Message<Values>,
  ...names: readonly (keyof Values)[]
): Message<Values> {
  const unread = names.map((name) => whole[name]);
  return { ...whole, [TABLE]: new FieldTable(whole[TABLE].fields, unread) };
}

/** A message of which one list has what a function returns for each element, which takes less time. */
export function readingEach<Values, Name extends string & keyof Values, Element>(
  whole: Message<Values>,
  name: Name,
  readElement: (element: never) => Element,
): Message<Omit<Values, Name> & Readonly<Record<Name, readonly Element[]>>> {
  const list = { ...whole[name], read: readElement };
  const fields = whole[TABLE].fields.map((each) => (each.name === name ? list : each));
  const read = { ...whole, [name]: list, [TABLE]: new FieldTable(fields) };
  return read as unknown as Message<
    Omit<Values, Name> & Readonly<Record<Name, readonly Element[]>>
  >;
}

/** An entry of a map, in protobuf. */
export const MAP_ENTRY = message({ key: text(1), value: text(2) });
const map = (number: number) => field<ReadonlyMap<string, string>>(number, 'map', false, MAP_ENTRY);

/** ObjectMeta (apimachinery meta/v1/generated.proto). */
export const OBJECT_META = message({
  name: text(1),
  namespace: text(3),
  uid: text(5),
  resourceVersion: text(6),
  generation: unread(7),
  labels: map(11),
  annotations: map(12),
  managedFields: unread(17),
});

/** `metadata`, which every kind has in the same place. */
export const METADATA = { name: 'metadata', ...one(1, OBJECT_META) };

/** An object of any kind. */
export const OBJECT = message({ metadata: METADATA });

const { name, namespace, uid, resourceVersion, labels, annotations } = OBJECT_META;
const LABELLED_META = message({ name, namespace, uid, resourceVersion, labels, annotations });

/** What ObjectMeta has of an object of any kind. */
export const IDENTIFIED_OBJECT = message({
  metadata: one(1, message({ name, namespace, uid, resourceVersion })),
});

/** What tells apart two states of one object. */
export const VERSIONED_OBJECT = message({ metadata: one(1, message({ resourceVersion })) });

/** What PartialObjectMetadata has of an object of any kind. */
export const LABELLED_OBJECT = message({ metadata: one(1, LABELLED_META) });

/** NodeAddress (core/v1). */
const NODE_ADDRESS = message({ type: text(1), address: text(2) });

/** Node (core/v1): what is read of the own one. */
export const OWN_NODE = message({
  metadata: LABELLED_OBJECT.metadata,
  spec: one(2, message({ podCIDRs: texts(7) })),
  status: one(3, message({ addresses: many(5, NODE_ADDRESS) })),
});

/** ListMeta (meta/v1). */
export const LIST_META = message({
  selfLink: text(1),
  resourceVersion: text(2),
  continue: text(3),
});

/** ServicePort (core/v1), and the same fields of EndpointPort (discovery/v1). */
export const PORT = message({ name: text(1), protocol: text(2), port: integer(3) });

/** ServiceSpec (core/v1). */
const SERVICE_SPEC = message({
  ports: many(1, PORT),
  selector: unread(2),
  clusterIP: text(3),
  type: text(4),
  externalTrafficPolicy: text(11),
  clusterIPs: texts(18),
  ipFamilies: texts(19),
  internalTrafficPolicy: text(22),
  trafficDistribution: text(23),
});

/** Service (core/v1): where it is reached. */
export const SERVICE = message({ spec: one(2, SERVICE_SPEC) });

/** Service (core/v1): what a decision needs of it. */
export const SERVICE_FACTS = message({
  metadata: LABELLED_OBJECT.metadata,
  spec: one(2, without(SERVICE_SPEC, 'clusterIPs')),
});

/** ObjectReference (core/v1). */
export const REFERENCE = message({
  kind: text(1),
  namespace: text(2),
  name: text(3),
  uid: text(4),
});

/** EndpointConditions (discovery/v1). */
export const CONDITIONS = message({ ready: bool(1), serving: bool(2), terminating: bool(3) });

/** Endpoint (discovery/v1). */
export const ENDPOINT = message({
  addresses: texts(1),
  conditions: one(2, CONDITIONS),
  targetRef: one(4, REFERENCE),
  deprecatedTopology: map(5),
  nodeName: text(6),
  zone: text(7),
  hints: unread(8),
});

/** EndpointSlice (discovery/v1). */
export const SLICE = message({
  metadata: METADATA,
  endpoints: many(2, ENDPOINT),
  ports: many(3, PORT),
  addressType: text(4),
});

/** EndpointSlice: what a decision needs of it. */
export const SLICE_FACTS = message({
  metadata: one(1, message({ name, namespace, uid, resourceVersion, labels })),
  endpoints: many(2, without(ENDPOINT, 'targetRef')),
  ports: SLICE.ports,
  addressType: SLICE.addressType,
});

/** EndpointAddress (core/v1). */
export const ADDRESS = message({ ip: text(1), targetRef: one(2, REFERENCE), nodeName: text(4) });

/** EndpointPort (core/v1). */
export const SUBSET_PORT = message({ name: text(1), port: integer(2), protocol: text(3) });

/** EndpointSubset (core/v1). */
export const SUBSET = message({
  addresses: many(1, ADDRESS),
  notReadyAddresses: many(2, ADDRESS),
  ports: many(3, SUBSET_PORT),
});

/** Endpoints (core/v1). */
export const ENDPOINTS_MESSAGE = message({ metadata: METADATA, subsets: many(2, SUBSET) });

const FACTS_ADDRESS = without(ADDRESS, 'targetRef');
const FACTS_SUBSET = message({
  addresses: many(1, FACTS_ADDRESS),
  notReadyAddresses: many(2, FACTS_ADDRESS),
  ports: SUBSET.ports,
});

/** Endpoints: what a decision needs of it. */
export const ENDPOINTS_FACTS = message({
  metadata: IDENTIFIED_OBJECT.metadata,
  subsets: many(2, FACTS_SUBSET),
});

/** StatusCause (meta/v1). */
export const CAUSE = message({ reason: text(1), message: text(2), field: text(3) });

/** StatusDetails (meta/v1). */
export const DETAILS = message({
  name: text(1),
  group: text(2),
  kind: text(3),
  causes: many(4, CAUSE),
  retryAfterSeconds: integer(5),
  uid: text(6),
});

/** Status (meta/v1). */
export const STATUS = message({
  metadata: one(1, LIST_META),
  status: text(2),
  message: text(3),
  reason: text(4),
  details: one(5, DETAILS),
  code: integer(6),
});
