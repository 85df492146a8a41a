import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../support/random.ts';

/** Cuts off the end of each file, or alters a byte, as a disk and a power cut may do. */
export function tearSnapshot(folder: string, random: Random): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    if (!statSync(file).isFile()) continue;
    const bytes = readFileSync(file);
    if (bytes.length === 0) continue;
    const at = random.below(bytes.length);
    if (random.chance(0.5)) {
      writeFileSync(file, bytes.subarray(0, at));
    } else {
      bytes[at] = (bytes[at] ?? 0) ^ (1 + random.below(255));
      writeFileSync(file, bytes);
    }
  }
}
