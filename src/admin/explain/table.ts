import type { ServiceAddresses } from '../../filter/codec/codec.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import type { ViewSource } from '../../proxy/views/view-source.ts';
import type { Endpoint } from '../../topology/decide/endpoint.ts';
import { readerOf } from '../../topology/policy/service-reader.ts';
import { type ResponseHead, responseHead } from '../health/version-info.ts';
import {
  type ExplainedView,
  findServices,
  findView,
  nameOf,
  notStarted,
  type ViewName,
} from './explained-view.ts';
import { TimeSlice } from './time-slice.ts';

/** The backends that the kernel should have for one port of one Service address. */
export interface TableRow {
  readonly service: string;
  /** `TCP`, `UDP` or `SCTP`. */
  readonly protocol: string;
  readonly clusterIP: string;
  readonly port: number;
  /** `ip:port` (IPv6 in brackets), sorted. */
  readonly backends: readonly string[];
  /** kube-proxy may use fewer of them, because it filters them too. */
  readonly fewerAllowed: boolean;
  /** `backends` is left out, because the rows of this Service before it have too many; absent: it is complete. */
  readonly truncated?: true;
}

/** The response of /table. */
export interface Table extends ResponseHead {
  readonly node: string;
  /** URL of the http listener; if there is none, of the https listener. */
  readonly listen: string;
  /** URL of the https listener; undefined: there is none. */
  readonly https?: string;
  /** All endpoints are shown, independent of policies. */
  readonly dryRun: boolean;
  /** The view of endpoints; undefined: no client has requested endpoints. */
  readonly view?: ViewName;
  /** The view of Services; undefined: no client has requested Services. */
  readonly services?: ViewName;
  readonly rows: readonly TableRow[];
  /** Value of `after` for the next page; undefined: this is the last one. */
  readonly next?: string;
}

/**
 * What kube-proxy should have written to the kernel, computed from the views: at most `limit` Services, sorted by
 * name. Each is read when its slice starts. Throws `NotReady`.
 */
export async function tableOf(
  proxy: NodeProxy,
  after: string,
  limit: number,
  slice: TimeSlice,
): Promise<Table> {
  const explained = findView(proxy);
  const services = findServices(proxy);
  if (explained === undefined) return { ...headOf(proxy), rows: [] };
  if (!explained.view.started || services?.view.started === false) throw notStarted(proxy);
  const head = { ...headOf(proxy), view: nameOf(proxy, explained) };
  if (services === undefined) return { ...head, rows: [] };
  const names = [...services.view.keys()].filter((name) => name > after).sort();
  const rows: TableRow[] = [];
  let backends = 0;
  let last: string | undefined;
  for (const name of names.slice(0, limit)) {
    if (backends >= MAX_BACKENDS) break;
    const added = await rowsOf(name, services, explained, slice);
    for (const row of added) backends += row.backends.length;
    rows.push(...added);
    last = name;
  }
  return {
    ...head,
    services: nameOf(proxy, services),
    rows,
    next: last === names.at(-1) ? undefined : last,
  };
}

/** The rows of default/kubernetes; none while the views are not complete. */
export async function kubernetesRows(proxy: NodeProxy): Promise<TableRow[]> {
  const explained = findView(proxy);
  const services = findServices(proxy);
  if (explained?.view.started !== true || services?.view.started !== true) return [];
  const slice = new TimeSlice(new AbortController().signal);
  return await rowsOf('default/kubernetes', services, explained, slice);
}

/**
 * A page ends after the Service with which it has this many backends, about 4 MB of JSON. After the row with which a
 * Service has this many, its rows have none: 400 ports with 20,000 endpoints would take more than 1 GB.
 */
const MAX_BACKENDS = 100_000;

function headOf(
  proxy: NodeProxy,
): Pick<Table, 'node' | 'listen' | 'https' | 'dryRun' | keyof ResponseHead> {
  const { topology, url, httpsUrl, policyResolver } = proxy;
  return {
    node: topology.nodeName,
    listen: url,
    https: httpsUrl,
    dryRun: policyResolver.settings.dryRun === true,
    ...responseHead(proxy),
  };
}

/** The endpoints are read at once, and what each port has of them in slices. */
async function rowsOf(
  name: string,
  services: ViewSource,
  explained: ExplainedView,
  slice: TimeSlice,
): Promise<TableRow[]> {
  const object = services.view.get(name);
  if (object === undefined) return [];
  const { codec } = services.view;
  const facts = codec.service(object);
  const { clusterIPs, ports } = codec.serviceAddresses(object);
  if (readerOf(facts) !== 'kube-proxy') return [];
  const shown = shownGroups(name, explained);
  const local = facts.internalTrafficPolicy === 'Local';
  const fewerAllowed = local || shown.some(({ hinted }) => hinted);
  const rows: TableRow[] = [];
  let total = 0;
  for (const clusterIP of clusterIPs) {
    for (const port of ports) {
      const truncated = total >= MAX_BACKENDS;
      const backends = truncated ? [] : backendsOf(shown, familyOf(clusterIP), port);
      total += backends.length;
      rows.push({
        service: name,
        protocol: port.key.slice(0, port.key.indexOf('/')),
        clusterIP,
        port: port.number,
        backends,
        fewerAllowed,
        truncated: truncated || undefined,
      });
      await slice.pause();
    }
  }
  return rows;
}

/** Shown endpoints that share their ports. */
interface ShownGroup {
  readonly endpoints: readonly Endpoint[];
  readonly addresses: ReturnType<ViewSource['view']['codec']['addresses']>[number];
  readonly hinted: boolean;
}

/** The endpoints of a Service, from the same bytes that clients receive. */
function shownGroups(service: string, { view, projection }: ExplainedView): ShownGroup[] {
  const { codec, resource } = view;
  const objects = projection.inspect(service).objects.flatMap(({ key }) => view.get(key) ?? []);
  const shown: ShownGroup[] = [];
  for (const object of objects) {
    const isSlice = resource.kind === 'EndpointSlice';
    const { groups, hinted } = isSlice ? codec.endpointSlice(object) : codec.endpoints(object);
    const addresses = codec.addresses(resource, object);
    for (const [index, { endpoints }] of groups.entries()) {
      const own = addresses[index] ?? { ports: [], endpoints: [], hinted: [] };
      shown.push({ endpoints, addresses: own, hinted });
    }
  }
  return shown;
}

/** As in kube-proxy: the ready endpoints, else those that are serving while they terminate. */
function backendsOf(
  shown: readonly ShownGroup[],
  family: string,
  port: ServiceAddresses['ports'][number],
): string[] {
  const ready = new Set<string>();
  const serving = new Set<string>();
  for (const { endpoints, addresses } of shown) {
    const number = addresses.ports.find(({ key }) => key === port.key)?.number;
    if (number === undefined) continue;
    for (const [index, { state, family: own }] of endpoints.entries()) {
      const address = addresses.endpoints[index]?.[0] ?? '';
      const backend = family === 'IPv6' ? `[${address}]:${number}` : `${address}:${number}`;
      if (own === family && state === 'ready') ready.add(backend);
      if (own === family && state === 'serving') serving.add(backend);
    }
  }
  return [...(ready.size > 0 ? ready : serving)].sort();
}

function familyOf(address: string): string {
  return address.includes(':') ? 'IPv6' : 'IPv4';
}
