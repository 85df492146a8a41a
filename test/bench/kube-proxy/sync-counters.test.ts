import { describe, expect, test } from '@jest/globals';
import { lastSyncAt, readSyncCounters } from '../../../bench/kube-proxy/sync-counters.ts';

/** As kube-proxy 1.36.3 writes them. */
const metrics = `# HELP kubeproxy_sync_full_proxy_rules_duration_seconds [ALPHA] SyncProxyRules latency
# TYPE kubeproxy_sync_full_proxy_rules_duration_seconds histogram
kubeproxy_sync_full_proxy_rules_duration_seconds_bucket{ip_family="IPv4",le="+Inf"} 1
kubeproxy_sync_full_proxy_rules_duration_seconds_sum{ip_family="IPv4"} 0.234820787
kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1
kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv6"} 3
kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv4"} 10
kubeproxy_sync_proxy_rules_duration_seconds_sum{ip_family="IPv4"} 2.235834004
kubeproxy_sync_proxy_rules_duration_seconds_sum{ip_family="IPv6"} 0.09
kubeproxy_sync_proxy_rules_endpoint_changes_pending 7
kubeproxy_sync_proxy_rules_endpoint_changes_total 1101
kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="IPv4"} 1.7952757234419436e+09
kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="IPv6"} 1.795275712266865e+09
`;

describe('readSyncCounters()', () => {
  test('reads rounds of IPv4, and slice events', () => {
    const counters = { full: 1, partial: 10, seconds: 2.235834004, sliceEvents: 1101 };
    expect(readSyncCounters(metrics)).toEqual(counters);
  });

  test('what has not been counted yet is 0', () => {
    const none = { full: 0, partial: 0, seconds: 0, sliceEvents: 0 };
    expect(readSyncCounters('')).toEqual(none);
  });
});

describe('lastSyncAt()', () => {
  test('is the time of IPv4, in milliseconds', () => {
    expect(lastSyncAt(metrics)).toBeCloseTo(1795275723441.9436);
  });

  test('is undefined while only IPv6 is done', () => {
    expect(lastSyncAt(metrics.replace(/^.*last_timestamp.*IPv4.*\n/m, ''))).toBeUndefined();
  });
});
