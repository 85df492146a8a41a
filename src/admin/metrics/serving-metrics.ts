import type { ServingReading } from '../../diagnosis/reading/node-reading.ts';
import { greatest, least } from '../../util/extremes.ts';
import {
  buildInfo,
  by,
  counter,
  gauge,
  type Metric,
  type MetricSources,
  perListener,
  perView,
  samples,
  serversInUse,
  single,
} from './metric-readers.ts';

/** The metrics that a wrapper and a relay have, each with its prefix. */
export const SERVING_METRICS: readonly Metric<MetricSources<ServingReading>>[] = [
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
    'view_budget_refusals_total',
    'Views refused or closed because of a limit: of all clients (views, bytes) or of one user (caller_views, caller_bytes).',
    by(['reason'], ({ budgetRefusals }) => samples(budgetRefusals)),
  ),
  gauge(
    'data_age_seconds',
    'Seconds since the last byte from the API server, for the collection that is worst off; at most 35 while all watches work, over HTTP/1.1 75.',
    single(({ data }) => data.ageSeconds),
  ),
  gauge(
    'upstream_server_in_use',
    '1 for the API server that is in use, 0 for the others.',
    by(['server'], serversInUse),
  ),
  counter(
    'upstream_received_bytes_total',
    'Bytes received from API servers and relays.',
    single(({ upstream }) => upstream.receivedBytes),
  ),
  counter(
    'upstream_failovers_total',
    'Number of switches to another API server.',
    single(({ upstream }) => upstream.failovers),
  ),
  gauge(
    'client_watches',
    'Watches that clients have open.',
    single(({ clients }) => clients.watches),
  ),
  gauge(
    'client_connections',
    'Connections that clients have open.',
    perListener(({ connections }) => connections),
  ),
  counter(
    'client_sent_bytes_total',
    'Bytes sent to clients; over https as they are encrypted.',
    perListener(({ sentBytes }) => sentBytes),
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
    single(({ clients: { certificate } }) => certificate && certificate.valid.to.getTime() / 1000),
  ),
  gauge(
    'https_certificate_not_before_timestamp_seconds',
    'When the certificate of the https listener becomes valid.',
    single(
      ({ clients: { certificate } }) => certificate && certificate.valid.from.getTime() / 1000,
    ),
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
  counter('log_lines_dropped_total', 'Log lines that are lost because they could not be written.', {
    labels: [],
    read: ({ log }) => [[log.dropped]],
  }),
];
