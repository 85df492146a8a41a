import type { EndpointsFacts, ObjectMeta } from './codec.ts';

/*
 * What objects cost in memory beside their bytes, measured on Node 24 (bench/memory, bench/NOTES.md): strings,
 * Maps, Buffers and what is remembered of each decision. Estimates; test/proxy/views/view-memory.test.ts compares them
 * with the heap.
 */

/** For each object of a view, beside its bytes. */
const OBJECT_BYTES = 450;
/** For each object with endpoints, more: what is decided about it, and where it is found again. */
const DECIDED_BYTES = 950;
/** For each endpoint: its place in the facts, in the mask and in the index by node. */
const ENDPOINT_BYTES = 64;

/** What an object takes in memory, in bytes, from its facts and its size. */
export function memoryCost(facts: ObjectMeta, bytes: number): number {
  const { groups }: Partial<EndpointsFacts> = facts;
  if (groups === undefined) return bytes + OBJECT_BYTES;
  let endpoints = 0;
  for (const group of groups) endpoints += group.endpoints.length;
  return bytes + OBJECT_BYTES + DECIDED_BYTES + ENDPOINT_BYTES * endpoints;
}
