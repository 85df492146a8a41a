import { expect, test } from '@jest/globals';
import { rulesFound } from '../../../src/admin/status/kernel-rules.ts';
import type { ProbeResult } from '../../../src/admin/status/kube-proxy-probe.ts';

const WELL: ProbeResult = {
  health: 200,
  lateSeconds: 0,
  mode: 'nftables',
  clusterIp: true,
  backend: false,
};

test.each<[found: Partial<ProbeResult>, state: string, text: RegExp]>([
  [{}, 'ok', /opens$/],
  [{ health: 0, lateSeconds: undefined }, 'ok', /opens$/],
  [{ lateSeconds: 60 }, 'ok', /opens$/],
  [{ lateSeconds: 61 }, 'problem', /^kube-proxy does not write its rules$/],
  [{ health: 404 }, 'ok', /opens$/],
  [{ health: 503 }, 'problem', /^kube-proxy reports that it is not healthy \(503\)$/],
  [{ health: 503, clusterIp: false, backend: true }, 'problem', /^the kernel has no rules/],
  [{ lateSeconds: 61, clusterIp: undefined }, 'problem', /does not write/],
  [{ clusterIp: undefined }, 'unknown', /is not known$/],
  [{ clusterIp: false }, 'unknown', /is unreachable, and so is its ClusterIP$/],
])('a probe that finds %j is the line %s', (found, state, text) => {
  const target = { clusterIp: { host: '10.96.0.1', port: 443 }, backends: [] };
  const line = rulesFound({ ...WELL, ...found, target });
  expect([line.id, line.state]).toEqual(['rules', state]);
  expect(line.text).toMatch(text);
});
