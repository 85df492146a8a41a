import type { InformerVariant } from '../informer/informer.ts';
import type { History } from './history.ts';
import { asRows, viewOf } from './model.ts';

/** What an informer on a node must hold after a history: by key the sorted addresses, as the model computes them. */
export function historyRows(
  history: History,
  self: string,
  { resource, namespace }: InformerVariant,
): Map<string, readonly string[]> {
  const objects = resource === 'endpoints' ? history.endpoints : history.slices;
  const rows = asRows(viewOf(history, self, objects));
  // The API server's own Service; nobody manages it, and it goes and comes with the API server.
  rows.set('default/kubernetes', ['10.99.0.1']);
  return new Map(
    [...rows].filter(([key]) => namespace === undefined || key.startsWith(`${namespace}/`)),
  );
}
