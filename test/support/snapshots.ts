import { pino } from 'pino';
import {
  SnapshotFolder,
  type SnapshotFolderOptions,
} from '../../src/client/snapshot/snapshot-folder.ts';
import type { Change } from '../../src/filter/objects/change.ts';
import { FakeCredentials } from './http/credentials.ts';

/** The snapshots of the node edge-1 of one cluster. Default: nothing is logged. */
export function createSnapshots(
  options: Omit<SnapshotFolderOptions, 'nodeName' | 'serverAccess' | 'logger'> &
    Partial<Pick<SnapshotFolderOptions, 'logger'>>,
): SnapshotFolder {
  return new SnapshotFolder({
    logger: pino({ level: 'silent' }),
    ...options,
    nodeName: 'edge-1',
    serverAccess: new FakeCredentials(new URL('https://10.0.0.1:6443')),
  });
}

/** The object `web` at a version, which can be told from its bytes. */
export function webAt(version: number): Change {
  const facts = { name: 'web', namespace: '', uid: 'u', resourceVersion: String(version) };
  return { type: 'MODIFIED', key: 'web', facts, object: Buffer.from(`v${version}`) };
}
