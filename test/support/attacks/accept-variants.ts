/** One request's Accept headers, each on a line of its own. */
export type AcceptLines = readonly string[];

const METADATA = 'as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const TABLE = 'as=Table;g=meta.k8s.io;v=v1';

/** Those with which callers of 1.0 read round the filter: each was taken for a request for metadata. */
const KNOWN: readonly AcceptLines[] = [
  ['application/json;as=PartialObjectMetadataX,application/json'],
  ['application/json;as=PartialObjectMetadataList;g=other.k8s.io;v=v1,application/json'],
  ['application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v9,application/json'],
  ['application/json;as=partialobjectmetadatalist;g=meta.k8s.io;v=v1,application/json'],
  ['application/yaml;as=PartialObjectMetadata,application/json'],
  ['text/html;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,*/*'],
];

/** What precedes a plain type that the API server falls back to. */
const FIRST = [
  `application/json;${METADATA}`,
  'application/json;as=PartialObjectMetadata',
  'application/json;as=PartialObjectMetadataList',
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io',
  'application/json;as="PartialObjectMetadataList";g="meta.k8s.io";v="v1"',
  'application/json;As=PartialObjectMetadataList;G=meta.k8s.io;V=v1',
  'APPLICATION/JSON;AS=PARTIALOBJECTMETADATALIST;G=META.K8S.IO;V=V1',
  'application/json ; as=PartialObjectMetadataList ; g=meta.k8s.io ; v=v1',
  'application/json;as= PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  `application/json;${METADATA};q=0`,
  `application/json;${METADATA};q=0.0`,
  `application/json;q=0.1;${METADATA}`,
  `application/json;${METADATA};q=2`,
  `application/json;${METADATA};as=Table`,
  `application/json;${TABLE}`,
  `application/json;as=Table;v=v1beta1;g=meta.k8s.io`,
  'application/json;as=Unknown;g=meta.k8s.io;v=v1',
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1',
  'application/json;as=PartialObjectMetadataList;g=;v=',
  'application/json;as=PartialObjectMetadataList;;g=meta.k8s.io;v=v1',
  `application/vnd.kubernetes.protobuf;${METADATA}`,
  'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataX',
  `application/cbor;${METADATA}`,
  `application/yaml;${METADATA}`,
  `application/*;${METADATA}`,
  `*/*;${METADATA}`,
  `text/plain;${METADATA}`,
];

const FALLBACKS = ['application/json', 'application/vnd.kubernetes.protobuf', '*/*'];

/** Whole headers, and headers on several lines. */
const OTHERS: readonly AcceptLines[] = [
  [`application/json;${METADATA}`],
  ['application/json;as=PartialObjectMetadataX'],
  [`application/json;${TABLE}`],
  [`application/json;${TABLE},application/json;${METADATA},application/json`],
  ['application/json', `application/json;${METADATA}`],
  [`application/json;${METADATA}`, 'application/json'],
  ['application/json;as=PartialObjectMetadataX', 'application/json'],
  [`application/json;${METADATA};q=0.5`, 'application/json;q=0.9'],
  ['', `application/json;${METADATA}`],
  [',', 'application/json'],
  [`,application/json;${METADATA},`],
  [`application/json;x=",application/json;${METADATA},";q=0.1,application/json`],
  ['application/yaml'],
  ['application/cbor'],
  ['application/json;stream=watch'],
  ['application/json;charset=utf-8;as=PartialObjectMetadataX,application/json'],
];

/** Over 90 Accept headers that request, or seem to request, something other than whole objects. */
export const ACCEPT_VARIANTS: readonly AcceptLines[] = [
  ...KNOWN,
  ...FIRST.flatMap((first) => FALLBACKS.map((fallback) => [`${first},${fallback}`])),
  ...OTHERS,
];
