import { portKey } from '../api-conventions.ts';
import type { GroupAddresses, ObjectBytes, PortNumber, ServiceAddresses } from '../codec.ts';
import { ENDPOINTS, type Resource } from '../resource.ts';
import { array, type Fields, fields, list, number, text } from './fields.ts';
import { parseObject } from './parse.ts';

/** Reads addresses and port numbers; see `Codec.addresses`. Only explain calls it, for one Service at a time. */
export function readAddresses(resource: Resource, object: ObjectBytes): GroupAddresses[] {
  const parsed = parseObject(object);
  if (resource.kind !== ENDPOINTS.kind) {
    const all = list(parsed, 'endpoints');
    const endpoints = all.map((each) => texts(each, 'addresses'));
    const hinted = all.map(({ hints }) => hints !== undefined && hints !== null);
    return [{ ports: readPorts(parsed), endpoints, hinted }];
  }
  return list(parsed, 'subsets').map((subset) => {
    const all = [...list(subset, 'addresses'), ...list(subset, 'notReadyAddresses')];
    const endpoints = all.map((each) => [text(each, 'ip')]);
    return { ports: readPorts(subset), endpoints, hinted: all.map(() => false) };
  });
}

/** Reads the cluster IPs and ports of a Service; see `Codec.serviceAddresses`. */
export function readServiceAddresses(object: ObjectBytes): ServiceAddresses {
  const spec = fields(parseObject(object), 'spec');
  const single = text(spec, 'clusterIP');
  const all = texts(spec, 'clusterIPs');
  const fallback = single === '' ? [] : [single];
  return { clusterIPs: all.length === 0 ? fallback : all, ports: readPorts(spec) };
}

function texts(object: Fields, key: string): string[] {
  return array(object, key).map((each) => text({ [key]: each }, key));
}

/** The ports of a slice, a subset or a Service. */
export function readPorts(object: Fields): PortNumber[] {
  return list(object, 'ports').map((port) => ({
    key: portKey(text(port, 'protocol'), text(port, 'name')),
    number: number(port, 'port'),
  }));
}
