import { apiVersion, RESOURCES, type Resource } from '../../filter/objects/resource.ts';

/** A discovery document, as clients such as kubectl read it before anything else. */
export interface DiscoveryDocument {
  readonly contentType: string;
  readonly body: Buffer;
}

const JSON_TYPE = 'application/json';
const AGGREGATED_TYPE = `${JSON_TYPE};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`;
const VERBS = ['get', 'list', 'watch'];
/** The collections by API group. Collections of one group have the same version. */
const GROUPS = Map.groupBy(RESOURCES, ({ group }) => group);
/**
 * The version of Kubernetes whose requests views answer. Clients such as kr8s read it before anything else. The API
 * server's own version would need a request to it.
 */
const KUBERNETES = { major: '1', minor: '37', gitVersion: 'v1.37.0+kube-proxy-wrapper' };
/** Short names and categories of kubectl, by plural (pkg/registry/core/…/storage.go). */
const NAMES: Readonly<Record<string, object>> = {
  services: { shortNames: ['svc'], categories: ['all'] },
  endpoints: { shortNames: ['ep'] },
  nodes: { shortNames: ['no'] },
};

/**
 * The discovery document of a path; undefined: the path is not one of discovery. A slash at its end changes nothing:
 * clients in Python send it. The documents list the collections that views serve and nothing else, so that a client
 * finds here what it can read here. They need no API server.
 *
 * `/api` and `/apis` have two forms: for clients since Kubernetes 1.30 one document lists all resources, for others it
 * lists group versions, and each of these has a document of its own.
 */
export function discoveryOf(
  requested: string,
  accept: string | undefined,
): DiscoveryDocument | undefined {
  const path = requested.replace(/(?<=.)\/$/, '');
  const isRoot = path === '/api' || path === '/apis';
  if (isRoot && acceptsAggregated(accept)) {
    return documentOf(AGGREGATED_TYPE, aggregated(path === '/api'));
  }
  const plain = plainDocument(path);
  return plain === undefined ? undefined : documentOf(JSON_TYPE, plain);
}

/** Whether the first form of JSON that a client accepts is aggregated discovery, version 2. */
function acceptsAggregated(accept = ''): boolean {
  for (const clause of accept.split(',')) {
    const [type = '', ...parameters] = clause.split(';').map((part) => part.trim());
    if (type.toLowerCase() !== JSON_TYPE) continue;
    const has = (parameter: string): boolean => parameters.includes(parameter);
    if (!parameters.some((each) => each.startsWith('as='))) return false;
    if (has('as=APIGroupDiscoveryList') && has('g=apidiscovery.k8s.io') && has('v=v2')) return true;
  }
  return false;
}

function plainDocument(path: string): object | undefined {
  if (path === '/version') return KUBERNETES;
  if (path === '/api') {
    return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
  }
  const named = [...GROUPS.keys()].filter((group) => group !== '');
  if (path === '/apis') {
    return { kind: 'APIGroupList', apiVersion: 'v1', groups: named.map(groupOf) };
  }
  const group = named.find((each) => path === `/apis/${each}`);
  if (group !== undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(group) };
  const resources = RESOURCES.filter((each) => path === rootOf(each));
  const [first] = resources;
  if (first === undefined) return undefined;
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersion(first),
    resources: resources.map(plainResource),
  };
}

function rootOf(resource: Resource): string {
  return `${resource.group === '' ? '/api' : '/apis'}/${apiVersion(resource)}`;
}

function groupOf(name: string): object {
  const { version } = GROUPS.get(name)?.[0] ?? {};
  const preferredVersion = { groupVersion: `${name}/${version}`, version };
  return { name, versions: [preferredVersion], preferredVersion };
}

function plainResource({ plural, kind, namespaced }: Resource): object {
  return {
    name: plural,
    singularName: kind.toLowerCase(),
    namespaced,
    kind,
    verbs: VERBS,
    ...NAMES[plural],
  };
}

/** @param core the core group, which has a path of its own; else all others */
function aggregated(core: boolean): object {
  const groups = [...GROUPS].filter(([name]) => (name === '') === core);
  const items = groups.map(([name, all]) => {
    const resources = all.map(aggregatedResource);
    const version = { version: all[0]?.version, freshness: 'Current', resources };
    return { metadata: { name }, versions: [version] };
  });
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items,
  };
}

function aggregatedResource({ group, version, plural, kind, namespaced }: Resource): object {
  return {
    resource: plural,
    responseKind: { group, version, kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.toLowerCase(),
    verbs: VERBS,
    ...NAMES[plural],
  };
}

function documentOf(contentType: string, document: object): DiscoveryDocument {
  return { contentType, body: Buffer.from(JSON.stringify(document)) };
}
