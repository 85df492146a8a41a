import { pino } from 'pino';
import { CURRENT_SLICES } from '../src/client/api/kube-proxy-queries.ts';
import { DEFAULT_READ_LIMITS } from '../src/client/api/read-limits.ts';
import type { Credentials } from '../src/client/credentials/credentials.ts';
import { Reflector } from '../src/client/reflector/reflector.ts';
import { Upstream } from '../src/client/upstream/upstream.ts';
import type { ObjectMeta } from '../src/filter/codec/codec.ts';
import { ProtobufCodec } from '../src/filter/codec/protobuf/protobuf-codec.ts';
import type { Change } from '../src/filter/objects/change.ts';
import { ENDPOINT_SLICES } from '../src/filter/objects/resource.ts';
import { VersionAllocator } from '../src/filter/view/version-allocator.ts';

/** A client of the wrapper that watches EndpointSlices. */
export interface WatchClient {
  /** Addresses in the view by `namespace/name` of the slice. */
  readonly shown: ReadonlyMap<string, ReadonlySet<string>>;
  /** Calls `listener` after each batch of changes. */
  subscribe(listener: () => void): void;
  close(): Promise<void>;
}

const codec = new ProtobufCodec();

/**
 * Watches EndpointSlices as the newest kube-proxy does, with the reflector that the wrapper itself has. Resolves when
 * the first list is complete. Rejects if the wrapper refuses it.
 *
 * @param credentials whose server is the wrapper; the client closes them
 */
export async function watchSlices(credentials: Credentials): Promise<WatchClient> {
  const logger = pino({ level: 'silent' });
  const upstream = new Upstream({ credentials, logger });
  const shown = new Map<string, ReadonlySet<string>>();
  const listeners = new Set<() => void>();
  const listed = Promise.withResolvers<void>();
  const onChanges = (changes: readonly Change<ObjectMeta>[]): void => {
    for (const change of changes) {
      if (change.type === 'DELETED') shown.delete(change.key);
      else {
        const groups = codec.endpointGroups(ENDPOINT_SLICES, change.object);
        const endpoints = groups.flatMap((group) => group.endpoints);
        shown.set(change.key, new Set(endpoints.flatMap(({ addresses }) => addresses)));
      }
    }
    for (const listener of listeners) listener();
  };
  const reflector = new Reflector({
    upstream,
    query: CURRENT_SLICES,
    decode: (object) => codec.meta(object),
    handler: { onChanges, onSynced: () => listed.resolve() },
    versions: new VersionAllocator(Date.now()),
    logger,
    readLimits: DEFAULT_READ_LIMITS,
    onRefused: (error) => error && listed.reject(error),
  });
  const close = async (): Promise<void> => {
    await reflector.close();
    await upstream.close();
    credentials.close();
  };
  try {
    await listed.promise;
  } catch (error) {
    await close();
    throw error;
  }
  return { shown, subscribe: (listener) => listeners.add(listener), close };
}
