import { portKey } from '../api-conventions.ts';
import type { PortNumber } from '../codec.ts';
import type { FieldCursor } from './field-cursor.ts';

/** Field numbers of a port, which differ between kinds. */
interface PortFields {
  readonly name: number;
  readonly protocol: number;
  readonly port: number;
}

export const SLICE_PORT: PortFields = { name: 1, protocol: 2, port: 3 };
export const SUBSET_PORT: PortFields = { name: 1, port: 2, protocol: 3 };
export const SERVICE_PORT: PortFields = { name: 1, protocol: 2, port: 3 };

/** Reads a port of a slice, a subset or a Service. */
export function readPort(port: FieldCursor, fields: PortFields): PortNumber {
  let name = '';
  let protocol = '';
  let number = 0;
  while (port.next()) {
    if (port.field === fields.name) name = port.text();
    else if (port.field === fields.protocol) protocol = port.text();
    else if (port.field === fields.port) number = port.int32();
  }
  return { key: portKey(protocol, name), number };
}

/**
 * Reads a port and adds its key to `keys`. A port without a number, or with number 0, is skipped, because kube-proxy
 * ignores it (pkg/proxy/endpointslicecache.go).
 */
export function addPortKey(port: FieldCursor, fields: PortFields, keys: string[]): void {
  const { key, number } = readPort(port, fields);
  if (number !== 0) keys.push(key);
}
