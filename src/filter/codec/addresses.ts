import type { GroupAddresses, PortNumber } from './codec.ts';
import type { Cursor } from './cursor.ts';
import { readPort } from './port.ts';
import { ADDRESS, ENDPOINT, ENDPOINTS, PORT, SLICE, SUBSET, SUBSET_PORT } from './schema.ts';

/** Addresses and ports of a slice; see `Codec.addresses`. */
export function readSliceAddresses(slice: Cursor): GroupAddresses[] {
  const ports: PortNumber[] = [];
  const endpoints: string[][] = [];
  const hinted: boolean[] = [];
  while (slice.next()) {
    if (slice.field === SLICE.ports) ports.push(readPort(slice.enter(), PORT));
    if (slice.field !== SLICE.endpoints) continue;
    const addresses: string[] = [];
    let hasHints = false;
    const endpoint = slice.enter();
    while (endpoint.next()) {
      if (endpoint.field === ENDPOINT.addresses) addresses.push(endpoint.text());
      if (endpoint.field === ENDPOINT.hints) hasHints = true;
    }
    endpoints.push(addresses);
    hinted.push(hasHints);
  }
  return [{ ports, endpoints, hinted }];
}

/** Addresses and ports of the subsets of an Endpoints object; see `Codec.addresses`. */
export function readSubsetAddresses(object: Cursor): GroupAddresses[] {
  const groups: GroupAddresses[] = [];
  while (object.next()) {
    if (object.field === ENDPOINTS.subsets) groups.push(readSubset(object.enter()));
  }
  return groups;
}

/** Ready addresses are first, as in the facts. */
function readSubset(subset: Cursor): GroupAddresses {
  const ports: PortNumber[] = [];
  const ready: string[][] = [];
  const notReady: string[][] = [];
  while (subset.next()) {
    if (subset.field === SUBSET.addresses) ready.push(readIp(subset.enter()));
    if (subset.field === SUBSET.notReadyAddresses) notReady.push(readIp(subset.enter()));
    if (subset.field === SUBSET.ports) ports.push(readPort(subset.enter(), SUBSET_PORT));
  }
  const endpoints = ready.concat(notReady);
  return { ports, endpoints, hinted: endpoints.map(() => false) };
}

function readIp(address: Cursor): string[] {
  let ip = '';
  while (address.next()) if (address.field === ADDRESS.ip) ip = address.text();
  return [ip];
}
