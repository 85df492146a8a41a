import type { Encoding } from '../../../src/filter/codec/codec.ts';
import type { View } from '../../../src/filter/view/view.ts';
import { keyOf, serviceOf, significant } from './policy-objects.ts';

/** A state that a client could have listed, and where its watch would continue. */
interface State {
  readonly position: number;
  readonly version: bigint;
  readonly items: readonly string[];
}

interface Followed {
  readonly states: State[];
  /** Positions of entries that must change something. */
  readonly significant: Set<number>;
}

const followed = new WeakMap<View, Followed>();

/**
 * Records every state of a view that could be listed, and which events concern objects that a policy manages, for
 * {@link checkLog}.
 */
export function follow(view: View, isManaged: (object: Buffer) => boolean): void {
  const states: State[] = [];
  const recorded: Followed = { states, significant: new Set() };
  const record = () => {
    const { position, version, items } = view.state();
    const from = states.at(-1)?.position ?? position;
    for (let at = from; at < position; at++) {
      const entry = view.log.at(at);
      if (entry !== undefined && isManaged(entry.object)) recorded.significant.add(at);
    }
    states.push({ position, version, items: items.map((item) => item.toString('latin1')).sort() });
  };
  record();
  followed.set(view, recorded);
  view.log.subscribe(record);
}

/**
 * A client that lists at any state and follows the log from there has every later state; versions rise, and
 * every event is valid for a client.
 */
export function checkLog(view: View, encoding: Encoding): void {
  const recorded = followed.get(view);
  const [start, ...states] = recorded?.states ?? [];
  if (recorded === undefined || start === undefined) throw new Error('the view was not followed');
  const client = new Map<string, Buffer>();
  for (const item of start.items) {
    const object = Buffer.from(item, 'latin1');
    client.set(keyOf(encoding, object), object);
  }
  let { position, version } = start;
  for (const state of states) {
    for (; position < state.position; position++) {
      const entry = view.log.at(position);
      if (entry === undefined) throw new Error(`no entry at ${position}`);
      const { type, object } = entry;
      const key = keyOf(encoding, object);
      const before = client.get(key);
      const problem = `${type} ${key} at ${position} of ${view.resource.plural}`;
      if (entry.version <= version) throw new Error(`${problem}: the version does not rise`);
      if (view.codec.meta(object).resourceVersion !== String(entry.version))
        throw new Error(`${problem}: has another version than its entry`);
      if ((before === undefined) !== (type === 'ADDED'))
        throw new Error(`${problem}: the type does not match the state`);
      // kube-proxy files a slice by its newest label only, and would keep it in its old Service for ever.
      if (before !== undefined && serviceOf(view, before) !== serviceOf(view, object))
        throw new Error(`${problem}: it moves from ${serviceOf(view, before)}`);
      const unchanged =
        type === 'MODIFIED' &&
        before !== undefined &&
        significant(encoding, before) === significant(encoding, object);
      const pointless = unchanged && recorded.significant.has(position);
      if (pointless && view.resource.plural !== 'services')
        throw new Error(`${problem}: changes nothing`);
      ({ version } = entry);
      if (type === 'DELETED') client.delete(key);
      else client.set(key, object);
    }
    if (state.version !== version) throw new Error(`a list at ${position} has another version`);
    const has = [...client.values()].map((object) => object.toString('latin1')).sort();
    if (has.join('\n') !== state.items.join('\n'))
      throw new Error(`a client at ${position} has drifted`);
  }
}
