import type { Encoding } from '../../../src/filter/codec/codec.ts';
import type { View } from '../../../src/filter/view/view.ts';
import { keyOf, significant } from './policy-objects.ts';

/** A state that a client could have listed, and where its watch would continue. */
interface State {
  readonly position: number;
  readonly version: bigint;
  readonly items: readonly string[];
}

interface Followed {
  readonly states: State[];
  /** Positions of entries that have to make a difference. */
  readonly significant: Set<number>;
}

const followed = new WeakMap<View, Followed>();

/**
 * Remembers every state of a view that could be listed, and which events are about objects that a policy
 * manages, for {@link checkLog}.
 */
export function follow(view: View, isManaged: (object: Buffer) => boolean): void {
  const states: State[] = [];
  const known: Followed = { states, significant: new Set() };
  const remember = () => {
    const { position, version, items } = view.snapshot();
    const from = states.at(-1)?.position ?? position;
    for (let at = from; at < position; at++) {
      const entry = view.log.at(at);
      if (entry !== undefined && isManaged(entry.object)) known.significant.add(at);
    }
    states.push({ position, version, items: items.map((item) => item.toString('latin1')).sort() });
  };
  remember();
  followed.set(view, known);
  view.log.subscribe(remember);
}

/**
 * A client that lists at any state and follows the log from there has every later state; versions rise, and
 * every event makes sense to a client.
 */
export function checkLog(view: View, encoding: Encoding): void {
  const known = followed.get(view);
  const [start, ...states] = known?.states ?? [];
  if (known === undefined || start === undefined) throw new Error('the view was not followed');
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
        throw new Error(`${problem}: out of place`);
      const unchanged =
        type === 'MODIFIED' &&
        before !== undefined &&
        significant(encoding, before) === significant(encoding, object);
      const pointless = unchanged && known.significant.has(position);
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
