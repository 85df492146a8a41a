import type { Collection } from './collections.ts';
import { isRecord } from './kube-object.ts';
import type { FieldError } from './kube-status.ts';

type Check = (object: Record<string, unknown>) => FieldError[];

/**
 * Checks what the server and its clients rely on: names, labels, ports and a slice's endpoints. It does not replace an
 * API server's validation.
 */
export function validateObject(
  collection: Collection,
  object: Record<string, unknown>,
): FieldError[] {
  const own = collection.group === 'events.k8s.io' ? undefined : CHECKS[collection.kind];
  return [...checkMetadata(object), ...(own?.(object) ?? [])];
}

const CHECKS: Readonly<Record<string, Check>> = {
  EndpointSlice(object) {
    const types = ['FQDN', 'IPv4', 'IPv6'];
    const type = object.addressType;
    if (type === undefined || type === '') return [required('addressType')];
    const errors = types.includes(String(type)) ? [] : [unsupported('addressType', type, types)];
    const endpoints = object.endpoints ?? [];
    if (!Array.isArray(endpoints)) return [...errors, wrong('endpoints', 'must be a list')];
    return [...errors, ...endpoints.flatMap(checkEndpoint), ...checkPorts('ports', object.ports)];
  },
  Service(object) {
    const spec = object.spec ?? {};
    if (!isRecord(spec)) return [wrong('spec', 'must be an object')];
    return checkPorts('spec.ports', spec.ports);
  },
};

function checkMetadata(object: Record<string, unknown>): FieldError[] {
  const metadata = object.metadata;
  if (!isRecord(metadata)) return [required('metadata')];
  const { name } = metadata;
  if (typeof name !== 'string' || name === '')
    return [required('metadata.name', 'name or generateName is required')];
  const named = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name)
    ? []
    : [
        wrong(
          'metadata.name',
          `${JSON.stringify(name)} is not a lower case name of letters, digits, '-' and '.'`,
        ),
      ];
  return [...named, ...['labels', 'annotations'].flatMap((key) => checkStrings(metadata, key))];
}

function checkStrings(metadata: Record<string, unknown>, key: string): FieldError[] {
  const map = metadata[key] ?? {};
  if (!isRecord(map)) return [wrong(`metadata.${key}`, 'must be an object of strings')];
  return Object.entries(map)
    .filter(([, value]) => typeof value !== 'string')
    .map(([name, value]) =>
      wrong(
        `metadata.${key}`,
        `the value of ${name} is ${JSON.stringify(value)}; must be a string, so quote it`,
      ),
    );
}

function checkEndpoint(endpoint: unknown, index: number): FieldError[] {
  const field = `endpoints[${index}]`;
  if (!isRecord(endpoint)) return [wrong(field, 'must be an object')];
  const { addresses, conditions = {} } = endpoint;
  if (!Array.isArray(addresses) || addresses.length === 0) {
    return [required(`${field}.addresses`, 'must contain at least 1 address')];
  }
  const strings = addresses.every((address) => typeof address === 'string');
  return [
    ...(strings ? [] : [wrong(`${field}.addresses`, 'must be a list of strings')]),
    ...(isRecord(conditions) ? [] : [wrong(`${field}.conditions`, 'must be an object')]),
  ];
}

function checkPorts(field: string, ports: unknown): FieldError[] {
  if (ports === undefined || ports === null) return [];
  if (!Array.isArray(ports)) return [wrong(field, 'must be a list')];
  return ports.flatMap((port, index) => {
    const number = isRecord(port) ? port.port : undefined;
    const fits = Number.isInteger(number) && Number(number) >= 1 && Number(number) <= 65535;
    return fits ? [] : [wrong(`${field}[${index}].port`, 'must be between 1 and 65535, inclusive')];
  });
}

function required(field: string, detail = ''): FieldError {
  const message = detail === '' ? 'Required value' : `Required value: ${detail}`;
  return { field, reason: 'FieldValueRequired', message };
}

function wrong(field: string, detail: string): FieldError {
  return { field, reason: 'FieldValueInvalid', message: `Invalid value: ${detail}` };
}

function unsupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const values = supported.map((each) => JSON.stringify(each)).join(', ');
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${values}`;
  return { field, reason: 'FieldValueNotSupported', message };
}
