import type { EndpointsFacts, ObjectMeta } from './object-facts.ts';

/*
 * What objects cost in memory beside their bytes: strings, Maps, Buffers and the state of each decision. The values are
 * estimates, measured on Node 24 (bench/memory, bench/NOTES.md). test/node/views/view-memory.test.ts compares them
 * with the heap.
 */

/** Each object of a view. */
const OBJECT_BYTES = 450;
/** Each object with endpoints, additionally: its decision and its index entries. */
const DECIDED_BYTES = 950;
/** Each endpoint and port: its entries in the facts, and of an endpoint in the mask and in the index by node. */
const ELEMENT_BYTES = 64;

/** Estimates the memory of an object in bytes, from its facts and its size. */
export function memoryCost(facts: ObjectMeta, bytes: number): number {
  const { groups }: Partial<EndpointsFacts> = facts;
  if (groups === undefined) return bytes + OBJECT_BYTES;
  let elements = 0;
  for (const { endpoints, ports } of groups) elements += endpoints.length + ports.length;
  return bytes + OBJECT_BYTES + DECIDED_BYTES + ELEMENT_BYTES * elements;
}
