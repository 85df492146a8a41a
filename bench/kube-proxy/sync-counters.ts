/** What kube-proxy has counted since its start. Only IPv4, because no Service here has another family. */
export interface SyncCounters {
  /** Rounds that wrote the rules of all Services. */
  readonly full: number;
  /** Rounds that wrote the rules of changed Services only. */
  readonly partial: number;
  /** Time that all rounds took, in seconds. */
  readonly seconds: number;
  /** Slice events that it received, whether they changed anything or not. */
  readonly sliceEvents: number;
}

/** Reads kube-proxy's metrics, in Prometheus' text format. */
export function readSyncCounters(metrics: string): SyncCounters {
  return {
    full: readMetric(metrics, 'sync_full_proxy_rules_duration_seconds_count'),
    partial: readMetric(metrics, 'sync_partial_proxy_rules_duration_seconds_count'),
    seconds: readMetric(metrics, 'sync_proxy_rules_duration_seconds_sum'),
    sliceEvents: readMetric(metrics, 'sync_proxy_rules_endpoint_changes_total'),
  };
}

/** What was counted between two readings. */
export function countersBetween(before: SyncCounters, after: SyncCounters): SyncCounters {
  return {
    full: after.full - before.full,
    partial: after.partial - before.partial,
    seconds: after.seconds - before.seconds,
    sliceEvents: after.sliceEvents - before.sliceEvents,
  };
}

/** End of the last round that succeeded, in milliseconds since the epoch; undefined before the first. */
export function lastSyncAt(metrics: string): number | undefined {
  const seconds = readMetric(metrics, 'sync_proxy_rules_last_timestamp_seconds');
  return seconds > 0 ? seconds * 1000 : undefined;
}

/** Value of a metric without labels, or with only the address family; 0 if there is none yet. */
function readMetric(metrics: string, name: string): number {
  const pattern = new RegExp(`^kubeproxy_${name}(?:\\{ip_family="IPv4"\\})? (\\S+)$`, 'm');
  return Number(pattern.exec(metrics)?.[1] ?? 0);
}
