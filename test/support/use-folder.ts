import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closedLater } from './closed-later.ts';

/** A file system in memory. Not all containers have one. */
const MEMORY = '/dev/shm';

/** Path of a new folder, which is removed later; see {@link closedLater}. */
export function useFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'kube-proxy-wrapper-'));
  closedLater({ close: () => rmSync(folder, { recursive: true, force: true }) });
  return folder;
}

/** The same in memory. The program waits for a disk for a second or two, and that of a test machine may be slower. */
export function useFastFolder(): string {
  try {
    accessSync(MEMORY, constants.W_OK);
    return useFolder(MEMORY);
  } catch {
    return useFolder();
  }
}
