import type { Cursor } from './cursor.ts';
import { LIST_META } from './schema.ts';

/** ListMeta while it is read. */
export interface ListVersion {
  resourceVersion: string;
  continue: string;
}

/** Reads the metadata of a list. */
export function readListMeta(metadata: Cursor, version: ListVersion): void {
  while (metadata.next()) {
    if (metadata.field === LIST_META.resourceVersion) version.resourceVersion = metadata.text();
    if (metadata.field === LIST_META.continue) version.continue = metadata.text();
  }
}
