import type { ServiceAddresses } from '../../filter/codec.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import type { ViewSource } from '../../proxy/view-source.ts';
import type { Endpoint } from '../../topology/endpoint.ts';
import { Turn } from '../turn.ts';
import { notStarted } from './explain.ts';
import {
  type ExplainedView,
  findServices,
  findView,
  nameOf,
  type ViewName,
} from './explained-view.ts';

/** Where the kernel should send connections to one port of one Service address. */
export interface TableRow {
  readonly service: string;
  /** `TCP`, `UDP` or `SCTP`. */
  readonly protocol: string;
  readonly clusterIP: string;
  readonly port: number;
  /** `ip:port` (IPv6 in brackets), sorted. */
  readonly backends: readonly string[];
  /** kube-proxy may take fewer of them: it filters by itself. */
  readonly fewerAllowed: boolean;
}

/** The answer of /table. */
export interface Table {
  readonly node: string;
  /** Where kube-proxy reaches the wrapper: by plain http, or, when there is no such door, by https. */
  readonly listen: string;
  /** Where it does by https; undefined: nowhere. */
  readonly https?: string;
  /** Everything is shown, whatever policies say. */
  readonly dryRun: boolean;
  /** The view of endpoints; undefined: nobody has asked for any. */
  readonly view?: ViewName;
  /** The Services view that belongs to it; undefined: nobody has asked for Services. */
  readonly services?: ViewName;
  readonly rows: readonly TableRow[];
  /** Service to give as `after` for those that follow; undefined: these are all. */
  readonly next?: string;
}

/**
 * What kube-proxy should have in the kernel, made from what the views show: Services in the order of their
 * names, `limit` of them, each as it is when it is its turn. Throws `NotReady`.
 */
export async function tableOf(proxy: NodeProxy, after: string, limit: number): Promise<Table> {
  const explained = findView(proxy);
  const services = findServices(proxy);
  if (explained === undefined) return { ...headOf(proxy), rows: [] };
  if (!explained.source.view.started || services?.view.started === false) throw notStarted(proxy);
  const head = { ...headOf(proxy), view: nameOf(proxy, explained.source) };
  if (services === undefined) return { ...head, rows: [] };
  const names = [...services.view.keys()].filter((name) => name > after).sort();
  const page = names.slice(0, limit);
  const rows: TableRow[] = [];
  const turn = new Turn();
  for (const name of page) {
    if (turn.isOver) await turn.pass();
    rows.push(...rowsOf(name, services, explained));
  }
  const answer = { ...head, services: nameOf(proxy, services), rows };
  const last = page.at(-1);
  return names.length > page.length && last !== undefined ? { ...answer, next: last } : answer;
}

function headOf(proxy: NodeProxy): Pick<Table, 'node' | 'listen' | 'https' | 'dryRun'> {
  const { world, url, httpsUrl, book } = proxy;
  return {
    node: world.nodeName,
    listen: url,
    ...(httpsUrl === undefined ? {} : { https: httpsUrl }),
    dryRun: book.settings.dryRun === true,
  };
}

function rowsOf(name: string, services: ViewSource, explained: ExplainedView): TableRow[] {
  const object = services.view.get(name);
  if (object === undefined) return [];
  const { codec } = services.view;
  const facts = codec.service(object);
  const at = codec.serviceAddresses(object);
  if (facts.type === 'ExternalName' || facts.clusterIP === 'None') return [];
  const shown = shownEndpoints(name, explained);
  const local = facts.internalTrafficPolicy === 'Local';
  const fewerAllowed = local || shown.some(({ hinted }) => hinted);
  return at.clusterIPs.flatMap((clusterIP) =>
    at.ports.map((port) => ({
      service: name,
      protocol: port.key.slice(0, port.key.indexOf('/')),
      clusterIP,
      port: port.number,
      backends: backendsOf(shown, familyOf(clusterIP), port),
      fewerAllowed,
    })),
  );
}

interface ShownEndpoint {
  readonly endpoint: Endpoint;
  readonly address: string;
  readonly ports: ReturnType<
    ExplainedView['source']['view']['codec']['addresses']
  >[number]['ports'];
  readonly hinted: boolean;
}

/** The endpoints of a Service in the very bytes that clients get. */
function shownEndpoints(service: string, { source, projection }: ExplainedView): ShownEndpoint[] {
  const { view } = source;
  const { codec, resource } = view;
  return projection.inspect(service).objects.flatMap(({ key }) => {
    const object = view.get(key);
    if (object === undefined) return [];
    const isSlice = resource.kind === 'EndpointSlice';
    const { groups, hinted } = isSlice ? codec.endpointSlice(object) : codec.endpoints(object);
    const addresses = codec.addresses(resource, object);
    return groups.flatMap(({ endpoints }, group) =>
      endpoints.map((endpoint, index) => ({
        endpoint,
        address: addresses[group]?.endpoints[index]?.[0] ?? '',
        ports: addresses[group]?.ports ?? [],
        hinted,
      })),
    );
  });
}

/** As kube-proxy: the ready ones; if there is none, those that serve while they terminate. */
function backendsOf(
  shown: readonly ShownEndpoint[],
  family: string,
  port: ServiceAddresses['ports'][number],
): string[] {
  const having = shown.flatMap(({ endpoint, address, ports }) => {
    const number = ports.find(({ key }) => key === port.key)?.number;
    if (endpoint.family !== family || number === undefined) return [];
    const backend = family === 'IPv6' ? `[${address}]:${number}` : `${address}:${number}`;
    return [{ state: endpoint.state, backend }];
  });
  const ready = having.filter(({ state }) => state === 'ready');
  const usable = ready.length > 0 ? ready : having.filter(({ state }) => state === 'serving');
  return [...new Set(usable.map(({ backend }) => backend))].sort();
}

function familyOf(address: string): string {
  return address.includes(':') ? 'IPv6' : 'IPv4';
}
