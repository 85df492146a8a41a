import { type Status, WrapperError } from '../../errors.ts';
import type { RawList } from '../../filter/codec/codec.ts';
import { objectKey } from '../../filter/objects/change.ts';
import { CODECS } from '../api/codecs.ts';
import type { Query } from '../api/query.ts';
import { REQUEST_ENDS } from '../api/request-end.ts';
import { endOf } from '../api/request-error.ts';
import { assertHistory, type KnownState, olderState } from './older-state.ts';

type NamedList = Pick<RawList, 'resourceVersion' | 'items' | 'selfLink'>;
type ListNamed = (query: Query) => Promise<NamedList>;

/** A name that no object should have, for a query without known objects. */
const NO_OBJECT = 'nobody.kube-proxy-wrapper.io';

/**
 * Makes sure that the API server's state has reached a version, and that the version belongs to the same history. The
 * API server accepts a watch from a later version too, and drops all events and bookmarks up to it (watch_cache.go,
 * cache_watcher.go). So this lists the known object that changed last, which the API server answers from memory
 * (waitUntilFreshAndList). If the object was deleted meanwhile, the next one is listed.
 *
 * Throws `Refused` with the cause ResourceVersionTooLarge if the API server is behind or has another history, and with
 * 410 if that cannot be found out.
 *
 * @param known the version that the API server must have reached, and known objects, the one that changed last first
 * @param list lists a query at that version or newer
 */
export async function assertReached(
  query: Query,
  known: KnownState,
  list: ListNamed,
): Promise<void> {
  const keys = [...known.objects.keys()];
  for (const key of keys.length === 0 ? [NO_OBJECT] : keys) {
    const page = await listIfSelectable(list, namedQuery(query, key), known.version);
    if (page === undefined) return;
    const older = olderState(page, known);
    if (older !== undefined) assertHistory(page, older, false);
    if (page.items.some((item) => objectKey(CODECS[query.encoding].meta(item)) === key)) return;
  }
  if (keys.length > 0) throw versionUnknown(`${keys.join()} do not exist any more`);
}

/** A list of at most this object; undefined: the collection does not support a selector by name. */
async function listIfSelectable(
  list: ListNamed,
  query: Query,
  version: string,
): Promise<NamedList | undefined> {
  try {
    return await list(query);
  } catch (error) {
    if (!(error instanceof WrapperError) || error.status === undefined) throw error;
    const { status } = error;
    const end = endOf(error);
    // A relay refuses with 400 what it does not serve.
    if (end === 'rejected' && status.code === 400) return undefined;
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

/** It will not become known whether the watch can continue. Only a list helps, as after an expired version. */
function versionUnknown(message: string): WrapperError {
  const status: Status = { code: 410, reason: 'Expired', message };
  return new WrapperError('Refused', message, { status });
}
