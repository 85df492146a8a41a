import { type Status, WrapperError } from '../../errors.ts';
import type { RawList } from '../../filter/codec/codec.ts';
import { objectKey } from '../../filter/objects/change.ts';
import { CODECS } from '../api/codecs.ts';
import type { Query } from '../api/query.ts';
import { REQUEST_ENDS } from '../api/request-end.ts';
import { endOf, RequestError } from '../api/request-error.ts';
import { assertHistory, type KnownState, olderState } from './older-state.ts';

type NamedList = Pick<RawList, 'resourceVersion' | 'items' | 'selfLink'>;
type ListNamed = (query: Query) => Promise<NamedList>;

/** A name that no object should have, for a query without known objects. */
const NO_OBJECT = 'nobody.kube-proxy-wrapper.io';

/**
 * Which state shows the history: that of the API server's cache, which costs etcd nothing, or the newest, as etcd has
 * it. Before Kubernetes 1.31 the cache of a collection without changes stays behind etcd, by default up to 10 minutes
 * (etcd's watch-progress-notify-interval). A version of etcd, or of another cache, is then not reached for so long.
 */
export type CheckedState = 'cached' | 'newest';

/**
 * Makes sure that the API server's state has reached a version, and that the version belongs to the same history. The
 * API server accepts a watch from a later version too, and drops all events and bookmarks up to it (watch_cache.go,
 * cache_watcher.go). So this lists the known object that changed last, which the API server answers from memory
 * (waitUntilFreshAndList). If the object was deleted meanwhile, the next one is listed.
 *
 * Throws `Refused` with the cause ResourceVersionTooLarge if the cache is behind, a RequestError `wentBack` if the
 * newest state is, and `Refused` with 410 if that cannot be found out.
 *
 * @param known the version that the API server must have reached, and known objects, the one that changed last first
 * @param list lists a query in that state; the cached one at the version or newer
 */
export async function assertReached(
  query: Query,
  known: KnownState,
  state: CheckedState,
  list: ListNamed,
): Promise<void> {
  const keys = [...known.objects.keys()];
  const none = query.resource.namespaced ? `default/${NO_OBJECT}` : NO_OBJECT;
  for (const key of keys.length === 0 ? [none] : keys) {
    const page = await listIfSelectable(list, namedQuery(query, key), known.version, state);
    if (page === undefined) return;
    const older = olderState(page, known);
    if (older !== undefined) {
      assertHistory(page, older, state === 'newest');
      throw wentBack(older);
    }
    if (page.items.some((item) => objectKey(CODECS[query.encoding].meta(item)) === key)) return;
  }
  if (keys.length > 0) throw versionUnknown(`${keys.join()} do not exist any more`);
}

/** A list of at most this object; undefined: the collection does not support a selector by name. */
async function listIfSelectable(
  list: ListNamed,
  query: Query,
  version: string,
  state: CheckedState,
): Promise<NamedList | undefined> {
  try {
    return await list(query);
  } catch (error) {
    if (!(error instanceof WrapperError) || error.status === undefined) throw error;
    const { status } = error;
    const end = endOf(error);
    // A relay refuses with 400 what it does not serve, such as the newest state.
    if (end === 'rejected' && status.code === 400 && state === 'cached') return undefined;
    if (REQUEST_ENDS[end].check !== 'list') throw error;
    const { code, message } = status;
    throw versionUnknown(
      `the API server does not report whether it has reached ${version}: ${code} ${message}`,
    );
  }
}

/**
 * A query that matches at most one object. A query that already names an object stays unchanged. With a second name
 * the API server would take the first in alphabetical order for the name in RequestInfo. Its authorization, and caches
 * on the way, would then use that name.
 */
function namedQuery(query: Query, key: string): Query {
  const { fieldSelector } = query;
  if (/(^|,)metadata\.name==?[^=]/.test(fieldSelector)) return query;
  const slash = key.indexOf('/');
  const selectors = [fieldSelector, `metadata.name=${key.slice(slash + 1)}`];
  if (slash > 0 && query.namespace === '') {
    selectors.push(`metadata.namespace=${key.slice(0, slash)}`);
  }
  return { ...query, fieldSelector: selectors.filter((each) => each !== '').join() };
}

function wentBack(older: string): RequestError {
  const message = `the API server ${older}`;
  return new RequestError('wentBack', message, {
    status: { code: 410, reason: 'Expired', message },
  });
}

/** It will not become known whether the watch can continue. Only a list helps, as after an expired version. */
function versionUnknown(message: string): WrapperError {
  const status: Status = { code: 410, reason: 'Expired', message };
  return new WrapperError('Refused', message, { status });
}
