/**
 * Objects of at least this many bytes get an allocation of their own. Smaller objects share blocks, because an
 * ArrayBuffer would cost more than the object.
 */
const OWN_ALLOCATION_BYTES = 1024;
/**
 * One object keeps its whole block alive, so blocks are small. The pool of Buffer.allocUnsafe uses blocks of 64 KB
 * (Node 24) and shares them with short-lived buffers of the whole process.
 */
const BLOCK_BYTES = 4096;

/** The block that is being filled, as in Buffer.allocUnsafe. Callers cannot observe it. */
const filling = { block: Buffer.allocUnsafeSlow(BLOCK_BYTES), used: 0 };

/** Allocates uninitialised memory for an object that may live long. */
export function allocateOwned(bytes: number): Buffer {
  if (bytes >= OWN_ALLOCATION_BYTES) return Buffer.allocUnsafeSlow(bytes);
  if (filling.used + bytes > BLOCK_BYTES) {
    filling.block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    filling.used = 0;
  }
  const start = filling.used;
  filling.used += bytes;
  return filling.block.subarray(start, filling.used);
}

/** Copies an object out of a network chunk, so that it does not keep the chunk alive. */
export function ownedCopy(bytes: Uint8Array): Buffer {
  const copy = allocateOwned(bytes.length);
  copy.set(bytes);
  return copy;
}
