import {
  buildInfo,
  by,
  endpointNumbers,
  greatest,
  kernelRules,
  least,
  type Metric,
  nodeSetStates,
  ofServices,
  perListener,
  perNodeSet,
  perView,
  type Reader,
  samples,
  serversInUse,
  servicesByPolicy,
  single,
  winners,
  withoutReadyEndpoints,
} from './metric-readers.ts';

function gauge(name: string, help: string, reader: Reader): Metric {
  return { type: 'gauge', name, help, ...reader };
}

function counter(name: string, help: string, reader: Reader): Metric {
  return { type: 'counter', name, help, ...reader };
}

/** All metrics of the program that are read at each scrape. */
export const METRICS: readonly Metric[] = [
  gauge('build_info', 'Always 1, with the version of the wrapper and of Node.js.', buildInfo),
  gauge(
    'view_objects',
    'Objects that a view shows.',
    perView(({ objects }) => objects),
  ),
  gauge(
    'view_bytes',
    'Bytes of the objects that a view shows.',
    perView(({ bytes }) => bytes),
  ),
  gauge(
    'list_ratio',
    'Size of the objects of a query as a part of maxListBytes: above 1, a process that starts cannot list them.',
    perView(({ status }) => status.listRatio, greatest),
  ),
  gauge(
    'view_started',
    '1 once a view is complete and served; absent while view_refused is 1.',
    perView(({ refusal, started }) => (refusal === undefined ? +started : undefined), least),
  ),
  gauge(
    'view_refused',
    '1 while the API server refuses the query of a view, or the view exceeds its budget; its clients receive the error.',
    perView(({ refusal }) => +(refusal !== undefined), greatest),
  ),
  gauge(
    'view_from_snapshot',
    '1 while a view shows the snapshot from disk, because there was no list from the API server since the start.',
    perView(({ status }) => +(status.restoredFrom !== undefined), greatest),
  ),
  gauge(
    'upstream_connected',
    '1 while a watch is open.',
    perView(({ status }) => +status.connected, least),
  ),
  counter(
    'upstream_lists_total',
    'LIST requests to the API server.',
    perView(({ status }) => status.lists),
  ),
  counter(
    'upstream_watches_total',
    'WATCH requests to the API server.',
    perView(({ status }) => status.watches),
  ),
  counter(
    'events_injected_total',
    'Events sent because the topology changed, not the object.',
    perView(({ events }) => events?.injected),
  ),
  counter(
    'events_suppressed_total',
    'Changes of objects that do not change what this node sees.',
    perView(({ events }) => events?.suppressed),
  ),
  counter(
    'view_budget_refusals_total',
    'Views refused or closed because of a limit: of all clients (views, bytes) or of one user (caller_views, caller_bytes).',
    by(['reason'], ({ budgetRefusals }) => samples(budgetRefusals)),
  ),
  gauge(
    'service_decisions',
    'Services by the winning keys, or by the reason why no key is used.',
    winners,
  ),
  gauge(
    'data_age_seconds',
    'Seconds since the last byte from the API server, for the collection that is worst off; at most 35 while all watches work, over HTTP/1.1 75.',
    single(({ data }) => data.ageSeconds),
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
    'upstream_server_in_use',
    '1 for the API server that is in use, 0 for the others.',
    by(['server'], serversInUse),
  ),
  counter(
    'upstream_failovers_total',
    'Number of switches to another API server.',
    single(({ upstream }) => upstream.failovers),
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
    perView(({ corrected }) => corrected?.length),
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
    'client_watches',
    'Watches that clients have open.',
    single(({ clients }) => clients.watches),
  ),
  gauge(
    'kernel_rules',
    '1 if a connection to the ClusterIP of default/kubernetes opens; 0 if the kernel has no rules, or kube-proxy does not write them; absent if that is not known.',
    kernelRules,
  ),
  gauge(
    'client_connections',
    'Connections that clients have open.',
    perListener(({ connections }) => connections),
  ),
  counter(
    'client_connections_refused_total',
    'Connections closed, and requests refused, because there were too many (maxConnections).',
    perListener(({ refused }) => refused),
  ),
  counter(
    'requests_total',
    'Requests by listener and status code, counted when the response ends; code aborted: the client left first.',
    by(['listener', 'code'], ({ clients }) => clients.requests),
  ),
  counter(
    'client_requests_refused_total',
    'Requests and connections refused, and connections aborted, by listener and reason.',
    by(['listener', 'reason'], ({ clients }) => clients.refusals),
  ),
  counter(
    'client_watches_stalled_total',
    'Watches and lists ended because their client read nothing for 60 s.',
    perListener(({ stalled }) => stalled),
  ),
  gauge(
    'https_certificate_expiry_timestamp_seconds',
    'When the certificate of the https listener expires.',
    single(({ clients: { certificate } }) => certificate && certificate.expires / 1000),
  ),
  counter(
    'https_certificate_failures_total',
    'Attempts to use new certificate files that failed; the old ones are kept.',
    single(({ clients }) => clients.certificate?.failures),
  ),
  counter(
    'access_reviews_total',
    'Reviews of callers sent to the API server: who they are, and what they may read.',
    single(({ clients }) => clients.reviews?.asked),
  ),
  counter(
    'access_reviews_stale_total',
    'Cached access decisions that were used again because the API server was unreachable.',
    single(({ clients }) => clients.reviews?.stale),
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
  counter('log_lines_dropped_total', 'Log lines that are lost because they could not be written.', {
    labels: [],
    read: ({ log }) => [[log.dropped]],
  }),
];
