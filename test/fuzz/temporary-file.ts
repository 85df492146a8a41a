import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';

/** Path of a file in a new folder, which is removed after the tests. The file does not exist yet. */
export function useTemporaryFile(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'fuzz-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  return join(folder, name);
}
