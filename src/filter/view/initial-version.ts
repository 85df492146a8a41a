import { crc32 } from 'node:zlib';
import type { EndpointsEdit, ObjectBytes } from '../codec/codec.ts';
import { HALF_STEP, parseVersion, STEP } from './version-allocator.ts';

/** An object as the API server sent it, and what is cut from it before it is shown. */
export interface EditedObject {
  readonly resourceVersion: string;
  readonly raw: ObjectBytes;
  readonly edit: EndpointsEdit;
}

/**
 * The resourceVersion of an object in the first state of a view, below the version of that state. It depends only on
 * what is shown: on the API server's object and its version, and on what is cut from it. So a client that lists again
 * after a restart of this program finds the versions that it has already, and client-go reports no update. kube-proxy
 * would otherwise write the rules of every Service again, because it compares EndpointSlices with their versions.
 *
 * It is above the versions that an earlier process gave until the API server had this one: some clients compare the
 * versions of an object, and keep the one with the higher. It may be below them if only the decision has changed since.
 *
 * No log issues these versions, so a watch cannot start from one of them. The same version for two contents of one
 * object is possible (2 in 10⁹) only if the API server's version is the same, and the decision differs.
 *
 * @param first version of the first state; it is the object's too if the API server's version is not below it
 */
export function initialVersion(
  { resourceVersion, raw, edit: { keep, cutHints = false } }: EditedObject,
  first: bigint,
): bigint {
  const upstream = parseVersion(resourceVersion) ?? 0n;
  let checksum = crc32(raw);
  if (keep !== undefined) checksum = crc32(keep, checksum);
  if (cutHints) checksum = crc32('hints', checksum);
  const initial = upstream * STEP - HALF_STEP + (BigInt(checksum) % HALF_STEP);
  return upstream > 0n && initial < first ? initial : first;
}
