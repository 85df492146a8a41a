import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closedLater } from './closed-later.ts';

/** Path of a new folder, which is removed later; see {@link closedLater}. */
export function useFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'kube-proxy-wrapper-'));
  closedLater({ close: () => rmSync(folder, { recursive: true, force: true }) });
  return folder;
}
