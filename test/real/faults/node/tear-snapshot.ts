import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../../../harness/random.ts';

/** Files as they once were. */
const older = new Map<string, Buffer>();

/**
 * Does to each file what a disk and a power cut may do: its end is gone, a byte is another, it is empty, it is
 * something else, or it is as it was some time ago.
 */
export function tearSnapshot(folder: string, random: Random): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    if (!statSync(file).isFile()) continue;
    const bytes = readFileSync(file);
    if (bytes.length === 0) continue;
    writeFileSync(file, torn(bytes, older.get(file), random));
    older.set(file, bytes);
  }
}

function torn(bytes: Buffer, before: Buffer | undefined, random: Random): Buffer {
  const at = random.below(bytes.length);
  switch (random.below(5)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.alloc(0);
    case 2:
      return Buffer.from(Array.from({ length: at }, () => random.below(256)));
    case 3:
      return before ?? bytes.subarray(at);
    default: {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] ?? 0) ^ (1 + random.below(255));
      return copy;
    }
  }
}
