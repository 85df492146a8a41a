import type { ObjectMeta, RawList } from '../../filter/codec/codec.ts';
import { objectKey } from '../../filter/objects/change.ts';
import { parseVersion } from '../../filter/view/version-allocator.ts';
import { CODECS } from '../api/codecs.ts';
import { RequestError, tooLargeVersion } from '../api/request-error.ts';

/** What the API server had reached before. */
export interface KnownState {
  readonly version: string;
  /** Objects by key, or some of them. */
  readonly objects: ReadonlyMap<string, Pick<ObjectMeta, 'resourceVersion'>>;
}

/**
 * Why a list is older than what is known, as the end of a sentence that begins "the API server". Undefined: it is not
 * older. etcd was then restored from a backup, or this API server lags behind another. After a restore the new history
 * may soon pass the known version: then only an object is older. Throws `Malformed`.
 */
export function olderState(
  { resourceVersion, items }: Pick<RawList, 'resourceVersion' | 'items'>,
  { version, objects }: KnownState,
): string | undefined {
  if (isOlder(resourceVersion, version)) {
    return `has reached only ${resourceVersion}, and had reached ${version} before`;
  }
  if (objects.size === 0) return undefined;
  for (const item of items) {
    const meta = CODECS.protobuf.meta(item);
    const key = objectKey(meta);
    const before = objects.get(key)?.resourceVersion ?? '';
    if (isOlder(meta.resourceVersion, before)) {
      return `has ${key} at ${meta.resourceVersion}, which was at ${before} before`;
    }
  }
  return undefined;
}

/** Whether a version is older than another. Versions that are not decimal cannot be compared: false. */
export function isOlder(version: string, than: string): boolean {
  const [a, b] = [parseVersion(version), parseVersion(than)];
  return a !== undefined && b !== undefined && a < b;
}

/**
 * Throws why an older list is not used: as an API server that is behind would refuse it, unless it is the newest state,
 * or because a cache has made it from its own store while it has no connection to the API server.
 */
export function assertHistory(
  { selfLink }: Pick<RawList, 'selfLink'>,
  older: string,
  isNewest: boolean,
): void {
  if (selfLink !== '') {
    const problem = 'a cache answers from its own store, as while it has lost the API server: it';
    throw new RequestError('outdated', `${problem} ${older}`);
  }
  if (!isNewest) throw tooLargeVersion(`the API server ${older}`);
}
