/**
 * Objects of at least this many bytes get an allocation of their own. Smaller ones share blocks, for an
 * ArrayBuffer costs more than they hold.
 */
const OWN_ALLOCATION_BYTES = 1024;
/**
 * One object keeps its whole block alive, when all others in it have gone: so blocks are small. Those of
 * Buffer.allocUnsafe take 64 KB (Node 24), and hold whatever else is short-lived in the process.
 */
const BLOCK_BYTES = 4096;

/** The block that is being filled, as in Buffer.allocUnsafe: no state that anybody could see. */
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
