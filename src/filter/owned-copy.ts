/**
 * Objects of at least this many bytes get an allocation of their own. A smaller one may come from Node's
 * 8 KB pool: there it keeps at most seven others' memory alive, and an ArrayBuffer costs more than it holds.
 */
const OWN_ALLOCATION_BYTES = 1024;

/** Allocates uninitialised memory for an object that may live long. */
export function allocateOwned(bytes: number): Buffer {
  return bytes < OWN_ALLOCATION_BYTES ? Buffer.allocUnsafe(bytes) : Buffer.allocUnsafeSlow(bytes);
}

/** Copies an object out of a network chunk, so that it does not keep the chunk alive. */
export function ownedCopy(bytes: Uint8Array): Buffer {
  const copy = allocateOwned(bytes.length);
  copy.set(bytes);
  return copy;
}
