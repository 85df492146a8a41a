import { greatest } from '../../util/extremes.ts';
import {
  by,
  counter,
  endpointNumbers,
  gauge,
  kernelRules,
  type Metric,
  nodeSetStates,
  ofServices,
  perNodeSet,
  perView,
  samples,
  servicesByPolicy,
  single,
  type WrapperSources,
  winners,
  withoutReadyEndpoints,
} from './metric-readers.ts';
import { SERVING_METRICS } from './serving-metrics.ts';

/** All metrics of a wrapper that are read at each scrape. */
export const WRAPPER_METRICS: readonly Metric<WrapperSources>[] = [
  ...SERVING_METRICS,
  gauge(
    'view_from_snapshot',
    '1 while a view shows the snapshot from disk, because there was no list from the API server since the start.',
    perView(({ status }) => +(status.restoredFrom !== undefined), greatest),
  ),
  counter(
    'events_injected_total',
    'Events sent because the topology, a policy or another slice changed, not the object.',
    perView(({ events }) => events?.injected),
  ),
  counter(
    'events_suppressed_total',
    'Changes of objects that do not change what this node sees.',
    perView(({ events }) => events?.suppressed),
  ),
  gauge(
    'service_decisions',
    'Services by the winning key (several: more than one), or by the reason why no key is used.',
    winners,
  ),
  gauge(
    'endpoints_known',
    'Endpoints at the API server of the Services that kube-proxy reads, by whether a policy selects them.',
    endpointNumbers(({ known }) => known),
  ),
  gauge(
    'endpoints_shown',
    'Those of them that are shown to kube-proxy.',
    endpointNumbers(({ shown }) => shown),
  ),
  gauge(
    'services_without_ready_endpoints',
    'Services with a policy that have a port without a ready endpoint: the policy leaves none (excluded), none of those that it leaves is ready but others are (not_ready_here), or none is ready (not_ready_anywhere).',
    withoutReadyEndpoints,
  ),
  gauge(
    'services',
    'Services by the source of their policy (annotation, default, …), or by the reason why they have none.',
    by(['policy'], servicesByPolicy),
  ),
  gauge(
    'services_dry_run',
    'Services with a policy that are shown unfiltered because of a dry run.',
    ofServices([], ({ dryRuns }) => [[dryRuns]]),
  ),
  gauge(
    'node_set_nodes',
    'Nodes in a node set.',
    perNodeSet(({ nodes }) => nodes),
  ),
  gauge(
    'node_set_refused',
    '1 if the API server refuses a node set.',
    perNodeSet(({ state, needed, refusal }) =>
      needed && state !== 'overLimit' ? +(refusal !== undefined) : undefined,
    ),
  ),
  gauge(
    'node_sets',
    'Node sets: in_use, lingering (no policy needs them any more), or over_limit (maxNodeSets; not watched).',
    by(['state'], nodeSetStates),
  ),
  gauge(
    'services_withheld',
    'Services hidden from this node because all their traffic goes to the cloud.',
    single(({ withheld }) => withheld),
  ),
  gauge(
    'filter_off',
    '1 while an annotation of this Node switches filtering off.',
    single(({ off }) => +off),
  ),
  gauge(
    'source_refused',
    '1 if the API server refuses a collection that policies depend on.',
    by(['collection'], ({ sources }) =>
      sources.map(({ path, refusal }) => [+(refusal !== undefined), path]),
    ),
  ),
  gauge(
    'upstream_relay_in_use',
    '1 while this node reads from a relay, 0 while it reads from an API server although there are relays; absent without relays, and while one is waited for at the start.',
    by([], ({ upstream: { hasRelays, isRelay, waitsForRelays } }) =>
      hasRelays && !waitsForRelays ? [[+isRelay]] : [],
    ),
  ),
  gauge(
    'snapshot_bytes',
    'Bytes of the snapshots on disk.',
    single(({ snapshots }) => snapshots?.bytes),
  ),
  counter(
    'snapshot_writes_total',
    'Snapshots written.',
    single(({ snapshots }) => snapshots?.counters.writes),
  ),
  counter(
    'snapshot_write_failures_total',
    'Snapshots that could not be written or read.',
    single(({ snapshots }) => snapshots?.counters.failures),
  ),
  counter(
    'snapshot_set_aside_total',
    'Snapshots that were set aside because they are not valid.',
    by(['cause'], ({ snapshots }) => samples(snapshots?.counters.setAside)),
  ),
  gauge(
    'local_runtime_corrected_endpoints',
    'Endpoints of this node that are corrected from the container runtime.',
    perView(({ corrected }) => corrected),
  ),
  gauge(
    'local_runtime_up',
    '0 if the last attempt to read the container runtime failed. It is checked once a minute.',
    single(({ localRuntime }) => localRuntime && +(localRuntime.problem === undefined)),
  ),
  counter(
    'local_runtime_failures_total',
    'Attempts to read the container runtime that failed.',
    single(({ localRuntime }) => localRuntime?.failures),
  ),
  gauge(
    'kernel_rules',
    '1 if a connection to the ClusterIP of default/kubernetes opens; 0 if the kernel has no rules, or kube-proxy does not write them; absent if that is not known.',
    kernelRules,
  ),
  gauge(
    'forwarded_requests',
    'Requests that are being forwarded to the API server over https.',
    single(({ clients }) => clients.forwarding?.active),
  ),
  counter(
    'forwarded_requests_refused_total',
    'Requests that were not forwarded because of a limit, of one user or of the listener.',
    by(['bound'], ({ clients }) => samples(clients.forwarding?.refused)),
  ),
];
