import { CODECS } from '../../src/client/api/codecs.ts';
import { MANAGED_BY_LABEL } from '../../src/diagnosis/explain/source-cluster.ts';
import { WrapperError } from '../../src/errors.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../../src/filter/objects/resource.ts';
import { parseManifests, reading } from '../../src/text/read-yaml.ts';
import { TOPOLOGY_KEYS_ANNOTATION } from '../../src/topology/policy/annotation-names.ts';
import { addObject, type ClusterObjects, COLLECTIONS, emptyCluster } from './cluster-objects.ts';
import { type Manifest, readManifestFiles } from './manifest-files.ts';
import { MIRRORING_CONTROLLER, mirroredSlices } from './mirrored-endpoints.ts';

/** Manifests by their names. The last one with a name counts, as with kubectl apply. */
type Manifests = Map<
  string,
  { readonly resource: Resource; readonly manifest: Manifest; readonly where: string }
>;

/**
 * Reads manifests in YAML or JSON: files, folders and `-`, standard input. A file can contain several documents and
 * lists, like the output of `kubectl get -o yaml`. Endpoints are read as the control plane copies them. Kinds that do
 * not affect endpoints are ignored. If an object occurs more than once, the last one counts. Throws `InvalidSettings`
 * with the names of the file and the object.
 */
export function readManifests(paths: readonly string[], recursive = false): ClusterObjects {
  const cluster = emptyCluster();
  const manifests: Manifests = new Map();
  const advice = recursive ? '' : '; with --recursive its folders are read too';
  for (const { name, text } of readManifestFiles(paths, recursive, advice)) {
    for (const document of reading(name, () => parseManifests(text))) {
      addManifest(manifests, document, name);
    }
  }
  const isMirrored = mirrorTest(manifests);
  for (const { resource, manifest, where } of manifests.values()) {
    const add = (as: Resource, object: object): void =>
      addObject(cluster, as, CODECS.json, Buffer.from(JSON.stringify(object)));
    reading(where, () => {
      assertAccepted(manifest);
      if (resource !== ENDPOINTS) add(resource, manifest);
      else if (isMirrored(manifest)) {
        for (const slice of mirroredSlices(manifest)) add(ENDPOINT_SLICES, slice);
      }
    });
  }
  return cluster;
}

/**
 * Whether the control plane copies an Endpoints object: its Service has no selector, whatever other slices it has. A
 * dump may have the copies. The API server stores an empty selector as none.
 */
function mirrorTest(manifests: Manifests): (endpoints: Manifest) => boolean {
  const copied = new Set<string>();
  for (const { resource, manifest } of manifests.values()) {
    const labels = Object(manifest.metadata?.labels);
    if (resource !== ENDPOINT_SLICES || labels[MANAGED_BY_LABEL] !== MIRRORING_CONTROLLER) continue;
    copied.add(`${manifest.metadata?.namespace}/${labels['kubernetes.io/service-name']}`);
  }
  return ({ metadata }) => {
    const name = `${metadata?.namespace}/${metadata?.name}`;
    const service = manifests.get(`Service ${name}`)?.manifest;
    const selector = Object.keys(Object(Object(service?.spec).selector));
    return service !== undefined && selector.length === 0 && !copied.has(name);
  };
}

function addManifest(manifests: Manifests, document: unknown, file: string): void {
  if (typeof document !== 'object' || document === null) return;
  const { apiVersion, kind, items, metadata } = document as Manifest;
  if (Array.isArray(items)) {
    // Items of a NodeList from the API do not have a kind.
    const itemKind = String(kind ?? '').replace(/List$/, '');
    const typed = itemKind === '' ? {} : { apiVersion, kind: itemKind };
    for (const item of items) addManifest(manifests, { ...typed, ...item }, file);
    return;
  }
  const resource = [...COLLECTIONS, ENDPOINTS].find((each) => each.kind === kind);
  if (resource === undefined) return;
  // Other groups have kinds with the same names.
  if (apiVersion !== undefined && resource.group !== groupOf(String(apiVersion))) return;
  // A slice may have a generateName. Other objects are shown by their names.
  if ((metadata?.name ?? '') === '' && resource !== ENDPOINT_SLICES)
    throw new WrapperError('InvalidSettings', `cannot read ${file}: a ${kind} has no name`);
  // As with kubectl apply, the default namespace is `default`.
  const namespaced = { namespace: 'default', ...metadata };
  const manifest = resource.namespaced ? { ...document, metadata: namespaced } : document;
  const { name = manifests.size } = metadata ?? {};
  const id = resource.namespaced ? `${kind} ${namespaced.namespace}/${name}` : `${kind} ${name}`;
  manifests.set(id, { resource, manifest, where: `${id} in ${file}` });
}

/** `discovery.k8s.io` of `discovery.k8s.io/v1`; the core group has no name. */
function groupOf(apiVersion: string): string {
  return apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/')));
}

/**
 * Throws for common mistakes that kubectl and API server refuse: nobody can roll out what only a simulation accepts.
 */
function assertAccepted({ apiVersion, kind, metadata, spec }: Manifest): void {
  if (apiVersion === 'discovery.k8s.io/v1beta1') {
    throw new Error(
      `Kubernetes removed ${apiVersion} in 1.25; v1 has nodeName and zone instead of topology`,
    );
  }
  for (const field of ['annotations', 'labels'] as const) {
    const wrong = Object.entries(metadata?.[field] ?? {}).find(
      ([, value]) => value !== null && typeof value !== 'string',
    );
    if (wrong === undefined) continue;
    throw new Error(`the value of ${wrong[0]} in ${field} is not a string: write it in quotes`);
  }
  if (kind === 'Service' && Object.hasOwn(Object(spec), 'topologyKeys')) {
    const instead = `write the annotation ${TOPOLOGY_KEYS_ANNOTATION} with the same list, as a string`;
    throw new Error(`Kubernetes removed spec.topologyKeys in 1.22; ${instead}`);
  }
}
