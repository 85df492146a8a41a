import type { KubeObject } from '../fake-apiserver/kube-object.ts';
import { endpointReasons } from '../src/diagnosis/explain/endpoint-reasons.ts';
import { shortKey } from '../src/diagnosis/explain/short-key.ts';
import { JsonCodec } from '../src/filter/codec/json/json-codec.ts';
import { ENDPOINT_SLICES } from '../src/filter/objects/resource.ts';
import type { EndpointGroup, EndpointState } from '../src/topology/decide/endpoint.ts';
import {
  type ManagedPolicy,
  type Policy,
  SERVICE_TOO_LARGE,
} from '../src/topology/policy/policy.ts';
import type { Topology } from '../src/topology/state/topology.ts';
import type { Row } from './changes.ts';

/** The facts of a slice that the rows show. */
interface Slice {
  readonly key: string;
  readonly service: string;
  readonly group: EndpointGroup | undefined;
  readonly addresses: readonly string[];
}

/** kube-proxy does not read slices with this label: clients take headless Services from DNS. */
const HEADLESS = 'service.kubernetes.io/headless';

/** A stored object is replaced, never changed. */
const known = new WeakMap<object, Slice>();
const codec = new JsonCodec();

/** Compares the endpoints of EndpointSlices with those that a client of the wrapper sees, and gives the reasons. */
export function rowsOf(
  all: readonly KubeObject[],
  topology: Topology,
  shown: ReadonlyMap<string, ReadonlySet<string>>,
): Row[] {
  const byService = new Map<string, Slice[]>();
  for (const object of all) {
    if (object.metadata.labels?.[HEADLESS] !== undefined) continue;
    const slice = known.get(object) ?? readSlice(object);
    known.set(object, slice);
    const slices = byService.get(slice.service) ?? [];
    slices.push(slice);
    byService.set(slice.service, slices);
  }
  const services = [...byService.keys()].sort();
  return services.flatMap((service) => {
    const slices = (byService.get(service) ?? []).sort((a, b) => (a.key < b.key ? -1 : 1));
    return rowsOfService(service, slices, topology, shown);
  });
}

function readSlice(object: object): Slice {
  const { metadata, endpoints } = object as {
    metadata: { name: string; namespace: string };
    endpoints?: readonly { readonly addresses: readonly string[] }[] | null;
  };
  const facts = codec.endpoints(ENDPOINT_SLICES, Buffer.from(JSON.stringify(object)));
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    service: `${facts.namespace}/${facts.service}`,
    group: facts.groups[0],
    addresses: (endpoints ?? []).map(({ addresses }) => addresses[0] ?? ''),
  };
}

function rowsOfService(
  service: string,
  slices: readonly Slice[],
  topology: Topology,
  shown: ReadonlyMap<string, ReadonlySet<string>>,
): Row[] {
  const policy = topology.activePolicy(service);
  const groups = slices.flatMap(({ group }) => group ?? []);
  const reasons =
    policy?.managed === true
      ? reasonsOf(service, groups, policy, topology)
      : groups.flatMap(({ endpoints }) => endpoints.map(() => unfiltered(policy)));
  const keys = policy?.managed === true ? policy.keys.map(shortKey).join(' > ') : 'no keys';
  let index = 0;
  return slices.flatMap(({ key, group, addresses }) =>
    (group?.endpoints ?? []).map((endpoint, position) => {
      const address = addresses[position] ?? '';
      return {
        id: `${key} ${address}`,
        service,
        keys,
        address,
        state: stateText(endpoint.state),
        node: endpoint.node || '(no node)',
        shown: shown.get(key)?.has(address) ?? false,
        why: reasons[index++] ?? '',
      };
    }),
  );
}

function reasonsOf(
  service: string,
  groups: readonly EndpointGroup[],
  policy: ManagedPolicy,
  topology: Topology,
): string[] {
  const { keys, dryRun } = policy;
  const decision = topology.decide(service, groups, policy);
  if (decision === undefined) {
    return groups.flatMap(({ endpoints }) => endpoints.map(() => unfiltered(SERVICE_TOO_LARGE)));
  }
  const reasonOf = endpointReasons(decision, keys);
  const prefix = dryRun === true ? 'dry run: ' : '';
  let index = 0;
  return groups.flatMap(({ ports, endpoints }) =>
    endpoints.map((endpoint) => `${prefix}${shortKeys(reasonOf(ports, endpoint, index++), keys)}`),
  );
}

/** A reason names keys. The table has their last parts. */
function shortKeys(reason: string, keys: readonly string[]): string {
  return keys.reduce((text, key) => text.replaceAll(key, shortKey(key)), reason);
}

function unfiltered(policy: Policy | undefined): string {
  if (policy === undefined || policy.managed) return 'not decided yet';
  if (policy.reason === 'no-policy') return 'no policy, so all are shown';
  return `${policy.reason.replaceAll('-', ' ')}, so all are shown; see explain`;
}

function stateText(state: EndpointState): string {
  return { ready: '', serving: 'terminating', notReady: 'not ready' }[state];
}
