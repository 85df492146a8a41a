import { COLLECTIONS } from './collections.ts';

const SHORT_NAMES: Readonly<Record<string, readonly string[]>> = {
  services: ['svc'],
  endpoints: ['ep'],
  nodes: ['no'],
  events: ['ev'],
};

/**
 * The documents with which clients such as kubectl discover the API: `/api`, `/apis`, `/api/v1`,
 * `/apis/<group>/<version>` and `/version`. Undefined for any other path.
 */
export function discoveryDocument(requested: string): unknown {
  // As go-restful: a slash at the end changes nothing.
  const path = requested.replace(/(?<=.)\/$/, '');
  const collections = [...COLLECTIONS.values()];
  const groups = [...new Set(collections.map(({ group }) => group))].filter((name) => name !== '');
  switch (path) {
    case '/version':
      return { major: '1', minor: '36', gitVersion: 'v1.36.0-fake' };
    case '/api':
      return { kind: 'APIVersions', versions: ['v1'] };
    case '/apis':
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupEntry) };
    default:
      return resourceList(path);
  }
}

function groupEntry(name: string): unknown {
  const { version: latest = 'v1' } =
    [...COLLECTIONS.values()].find(({ group }) => group === name) ?? {};
  const version = { groupVersion: `${name}/${latest}`, version: latest };
  return { name, versions: [version], preferredVersion: version };
}

function resourceList(path: string): unknown {
  const match = /^\/(?:api|apis\/([^/]+))\/(v1|v1alpha1)$/.exec(path);
  if (match === null) return undefined;
  const [, group = '', version = ''] = match;
  const own = [...COLLECTIONS.values()].filter(
    (each) => each.group === group && each.version === version,
  );
  if (own.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: group === '' ? version : `${group}/${version}`,
    resources: own.map(({ plural, kind, namespaced }) => ({
      name: plural,
      singularName: kind.toLowerCase(),
      shortNames: SHORT_NAMES[plural] ?? [],
      namespaced,
      kind,
      verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    })),
  };
}
