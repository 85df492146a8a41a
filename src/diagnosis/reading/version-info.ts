import type { ShownState } from '../../server/node-proxy.ts';
import { VERSION } from '../../version.ts';
import { readCollections } from './collections.ts';
import { type DataAge, dataAge } from './data-age.ts';

/** The response of /version: which wrapper runs, and for which node. */
export interface VersionInfo {
  readonly version: string;
  /** Version of Node.js, such as `v24.1.0`. */
  readonly nodeVersion: string;
  /** Name of the Node. */
  readonly node: string;
  /** A watch of the API server is open. */
  readonly receivesChanges: boolean;
}

/** What each response about this node has: the version of the wrapper, and the age of the data. */
export interface ResponseHead {
  readonly version: string;
  readonly data: DataAge;
}

export function versionInfo({ topology, upstream }: ShownState): VersionInfo {
  return {
    version: VERSION,
    nodeVersion: process.version,
    node: topology.nodeName,
    receivesChanges: upstream.serverState.isWatched,
  };
}

export function responseHead(proxy: ShownState): ResponseHead {
  return { version: VERSION, data: dataAge(readCollections(proxy), proxy.upstream) };
}
