import type { Codec, ObjectMeta, RawList } from '../../filter/codec/codec.ts';
import { objectKey } from '../../filter/codec/facts/change.ts';
import { parseVersion } from '../../filter/view/version-allocator.ts';

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
  codec: Pick<Codec, 'meta'>,
): string | undefined {
  if (isOlder(resourceVersion, version)) {
    return `has reached only ${resourceVersion}, and had reached ${version} before`;
  }
  if (objects.size === 0) return undefined;
  for (const item of items) {
    const meta = codec.meta(item);
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
