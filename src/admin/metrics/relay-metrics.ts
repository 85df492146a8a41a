import { ageOf } from '../../diagnosis/reading/data-age.ts';
import type { Relay } from '../../relay/relay.ts';
import { type RelayReading, readRelay } from '../../relay/relay-reading.ts';
import { greatest } from '../../util/extremes.ts';
import {
  by,
  counter,
  gauge,
  type LogLosses,
  type Metric,
  type MetricSources,
  perView,
  samples,
  single,
} from './metric-readers.ts';
import { type Metrics, registerAll } from './metrics.ts';
import { SERVING_METRICS } from './serving-metrics.ts';

/** All metrics of a relay that are read at each scrape. */
const RELAY_METRICS: readonly Metric<MetricSources<RelayReading>>[] = [
  ...SERVING_METRICS,
  gauge(
    'ready',
    '1 while nodes can read from this relay: it has the API server, and a valid certificate.',
    single(({ problem }) => +(problem === undefined)),
  ),
  gauge(
    'callers',
    'Tokens with an open read. Each wrapper has its own.',
    single(({ callers }) => callers),
  ),
  gauge(
    'view_age_seconds',
    'Seconds since the last byte from the API server for a query; of several queries, the greatest.',
    perView(
      ({ status }, { silentMs }) =>
        status.synced ? ageOf(status, silentMs, Date.now()) / 1000 : undefined,
      greatest,
    ),
  ),
  gauge(
    'lists_sending',
    'Lists that are being sent.',
    single(({ lists }) => lists.number),
  ),
  gauge(
    'lists_sending_bytes',
    'Bytes of the lists that are being sent, as they count for the limits.',
    single(({ lists }) => lists.bytes),
  ),
  counter(
    'lists_refused_total',
    'Lists refused because of the limit for their bytes: of one token or user (caller), or of all (listener).',
    by(['bound'], ({ lists }) => samples(lists.refused)),
  ),
  counter(
    'reads_refused_total',
    'Reads refused because of the limit for their number: of one token or user (caller), or of all (listener).',
    by(['bound'], ({ readsRefused }) => samples(readsRefused)),
  ),
];

/** The metrics of a relay. Their prefix is another one, so that no alert about nodes is about relays too. */
export function createRelayMetrics(
  relay: Pick<Relay, 'upstream' | 'views' | 'listeners'>,
  log: LogLosses = { dropped: 0 },
): Metrics {
  const read = (): MetricSources<RelayReading> => ({ reading: readRelay(relay), log });
  return registerAll('kube_proxy_wrapper_relay_', RELAY_METRICS, read);
}
