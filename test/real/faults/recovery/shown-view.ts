import type { ModelSlice } from '../../../../harness/history/expected-view.ts';
import { SEQ } from '../../../../harness/history/history-objects.ts';
import { viewOf } from '../../../../harness/history/history-view.ts';
import type { Timeline } from '../../../../harness/history/timeline.ts';
import { SELF } from '../wrapper-under-test.ts';
import type { SeenObject } from './kept-client.ts';

/** What a client must have when it is right, as lines that can be compared. */
export function wantedView(timeline: Timeline): ReadonlyMap<string, string> {
  const { state } = timeline;
  const view = viewOf(state, SELF, state.slices);
  return new Map(
    [...view].map(([name, { slice, endpoints }]) => [
      name,
      `${slice.version} ${endpoints.map(({ address }) => address).sort()}`,
    ]),
  );
}

/** The same of what a client has. */
export function shownView(objects: ReadonlyMap<string, SeenObject>): ReadonlyMap<string, string> {
  return new Map(
    [...objects].map(([name, object]) => [name, `${seqOf(object)} ${shownBy(object)}`]),
  );
}

/** The addresses in a slice. */
export function shownBy(object: SeenObject): string[] {
  return (object.endpoints ?? []).flatMap(({ addresses }) => addresses).sort();
}

/** The write that an object comes from. */
export function seqOf({ metadata }: SeenObject): number {
  return Number(metadata.annotations?.[SEQ]);
}

/** The addresses of a write. */
export function addressesOf({ endpoints }: ModelSlice): string[] {
  return endpoints.map(({ address }) => `${address}`);
}

/** The slices of one Service that a client has. */
export function slicesOf(
  service: string,
  objects: ReadonlyMap<string, SeenObject>,
): ReadonlyMap<string, SeenObject> {
  return new Map([...objects].filter(([name]) => name.slice(0, -2) === service).sort());
}

/** The same as one text, to compare it. */
export function seenText(shown: ReadonlyMap<string, SeenObject>): string {
  return [...shown].map(([name, object]) => `${name}:${shownBy(object)}`).join(' ');
}
