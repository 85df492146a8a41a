import type { History } from '../../../../harness/history/history.ts';
import type { KeptClient } from './kept-client.ts';
import { shownView, wantedView } from './shown-view.ts';

interface Compared {
  readonly history: History;
  readonly clients: { readonly slices: KeptClient; readonly services: KeptClient };
}

/** How the kept clients differ from what they must have; empty: not at all. */
export function differences({ clients, history }: Compared): string {
  const wanted = wantedView(history.timeline);
  const shown = shownView(clients.slices.objects);
  const services = new Map(
    [...history.timeline.state.services].map(([name, { seq }]) => [name, `${seq} `]),
  );
  return [
    ...compare('slice', wanted, shown),
    ...compare('Service', services, shownView(clients.services.objects)),
  ].join('; ');
}

function compare(
  what: string,
  wanted: ReadonlyMap<string, string>,
  shown: ReadonlyMap<string, string>,
): string[] {
  return [...new Set([...wanted.keys(), ...shown.keys()])].flatMap((name) =>
    wanted.get(name) === shown.get(name)
      ? []
      : [
          `${what} ${name} is ${shown.get(name) ?? 'absent'}, must be ${wanted.get(name) ?? 'absent'}`,
        ],
  );
}
