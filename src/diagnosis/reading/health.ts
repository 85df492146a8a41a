import type { ProxyState } from '../../server/node-proxy.ts';
import { causesOf, type ReadinessCause } from './causes.ts';
import { type Collections, readCollections } from './collections.ts';
import { type DataAge, dataAge } from './data-age.ts';
import { type Check, readiness } from './readiness.ts';

/** Whether this node is ready, and why not. It is cheap to read: Services are not counted. */
export interface Health extends Collections {
  readonly data: DataAge;
  /** The lines of /readyz. */
  readonly checks: readonly Check[];
  /** The one with the most failed checks first; empty: ready. */
  readonly causes: readonly ReadinessCause[];
}

export function readHealth(proxy: ProxyState): Health {
  const collections = readCollections(proxy);
  const data = dataAge(collections, proxy.upstream);
  const checks = readiness(proxy, collections);
  return { ...collections, data, checks, causes: causesOf(checks, data) };
}

/** Whether no check fails. */
export function isReady(proxy: ProxyState): boolean {
  return readHealth(proxy).causes.length === 0;
}
