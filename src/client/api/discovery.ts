import { apiVersion, RESOURCES, type Resource } from '../../filter/objects/resource.ts';

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
 * `/api` and `/apis` list group versions, and each of these has a document of its own. API servers also have one
 * document for all of them (aggregated discovery). Each client that requests it accepts this form too, as client-go
 * does (discovery_client.go).
 */
export function discoveryOf(requested: string): Buffer | undefined {
  const document = documentOf(requested.replace(/(?<=.)\/$/, ''));
  return document && Buffer.from(JSON.stringify(document));
}

function documentOf(path: string): object | undefined {
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
    resources: resources.map(resourceOf),
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

function resourceOf({ plural, kind, namespaced }: Resource): object {
  return {
    name: plural,
    singularName: kind.toLowerCase(),
    namespaced,
    kind,
    verbs: VERBS,
    ...NAMES[plural],
  };
}
