import { portKey } from './api-conventions.ts';
import type { PortNumber } from './codec.ts';
import type { Cursor } from './cursor.ts';
import type { PORT } from './schema.ts';

/** Reads a port of a slice, a subset or a Service. */
export function readPort(port: Cursor, fields: typeof PORT): PortNumber {
  let name = '';
  let protocol = '';
  let number = 0;
  while (port.next()) {
    if (port.field === fields.name) name = port.text();
    else if (port.field === fields.protocol) protocol = port.text();
    else if (port.field === fields.port) number = port.number();
  }
  return { key: portKey(protocol, name), number };
}

/**
 * Reads a port and adds its key to `keys`. A port without a number, or with number 0, is skipped, because kube-proxy
 * ignores it (pkg/proxy/endpointslicecache.go).
 */
export function addPortKey(port: Cursor, fields: typeof PORT, keys: string[]): void {
  const { key, number } = readPort(port, fields);
  if (number !== 0) keys.push(key);
}
