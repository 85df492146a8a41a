import { crc32 } from 'node:zlib';
import type { ObjectBytes } from '../codec/codec.ts';
import { parseVersion, STEP } from './version-allocator.ts';

/**
 * The resourceVersion of an object in the first state of a view, below the version of that state. It depends only on the
 * object: on the API server's version of it, and on what of it is shown. So a client that lists again after a restart of
 * this program finds the versions that it has already, and client-go reports no update. kube-proxy would otherwise write
 * the rules of every Service again, because it compares EndpointSlices with their versions.
 *
 * No log issues these versions, so a watch cannot start from one of them. The same version for two contents of one
 * object is possible (1 in 10⁹) only if the API server's version is the same, and the decision differs.
 *
 * @param upstream the API server's version of the object
 * @param object as it is shown, except for its version
 * @param first version of the first state; it is the object's too if `upstream` is not a version below it
 */
export function initialVersion(upstream: string, object: ObjectBytes, first: bigint): bigint {
  const version = parseVersion(upstream) ?? 0n;
  const initial = (version - 1n) * STEP + (BigInt(crc32(object)) % STEP);
  return version > 0n && initial < first ? initial : first;
}
