import type { Query } from '../../client/api/query.ts';
import { Reflector, type ReflectorStatus } from '../../client/reflector/reflector.ts';
import type { ReflectorContext } from '../../client/reflector/reflector-options.ts';
import type { WrapperError } from '../../errors.ts';
import type { Encoding, ObjectBytes, ObjectMeta } from '../../filter/codec/codec.ts';
import type { ChangeHandler } from '../../filter/objects/change.ts';
import type { Resource } from '../../filter/objects/resource.ts';

/** A collection that only the topology reads. */
export interface OpenCollection {
  readonly query: Query;
  readonly status: ReflectorStatus;
  /** Why the API server does not let us read it. */
  readonly refusal: string | undefined;
  /** Ends its watch. Resolves when it has ended. */
  close(): Promise<void>;
}

export interface CollectionOptions<Facts extends ObjectMeta> {
  readonly resource: Resource;
  /** Default: all objects. */
  readonly labelSelector?: string;
  /** In protobuf, only the metadata is read. Custom resources are served as JSON only. */
  readonly encoding: Encoding;
  readonly decode: (object: ObjectBytes) => Facts;
  readonly handler: ChangeHandler<Facts>;
  /** The API server does not let us read it; with undefined once a watch is open. */
  readonly onRefused: (error: WrapperError | undefined) => void;
}

/** Watches a collection that no client requests. */
export function openCollection<Facts extends ObjectMeta>(
  context: ReflectorContext,
  collection: CollectionOptions<Facts>,
): OpenCollection {
  const { resource, labelSelector = '', encoding, decode, handler, onRefused } = collection;
  const metadataOnly = encoding === 'protobuf';
  const query = {
    resource,
    namespace: '',
    labelSelector,
    fieldSelector: '',
    encoding,
    metadataOnly,
  };
  let refusal: string | undefined;
  const reflector = new Reflector({
    ...context,
    query,
    decode,
    handler,
    memory: context.ownMemory?.account(),
    // Only a custom resource can be absent: 404 for a built-in collection is not from an API server.
    absentIsEmpty: resource.group !== '',
    onRefused: (error) => {
      refusal = error?.message;
      onRefused(error);
    },
  });
  return {
    query,
    close: () => reflector.close(),
    get status() {
      return reflector.status;
    },
    get refusal() {
      return refusal;
    },
  };
}
