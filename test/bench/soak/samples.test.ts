import { describe, expect, test } from '@jest/globals';
import { parseSample } from '../../../bench/soak/samples.ts';

const METRICS = [
  'nodejs_heap_size_used_bytes 40000000',
  'nodejs_external_memory_bytes 2.5e6',
  'nodejs_active_resources_total 12',
];
const STATE = {
  metrics: `${METRICS.join('\n')}
kube_proxy_wrapper_upstream_connected{collection="/api/v1/services",encoding="json"} 1
kube_proxy_wrapper_upstream_connected{collection="/api/v1/nodes",encoding="json"} 0
`,
  status: 'VmPeak:\t  300000 kB\nVmRSS:\t  125000 kB\n',
  links: ['socket:[1]', '/dev/null', '', 'socket:[2]'],
};

describe('parseSample()', () => {
  test('reads what a process holds', () => {
    expect(parseSample(STATE, 7)).toEqual({
      seconds: 7,
      rss: 128,
      heap: 40,
      external: 2.5,
      handles: 4,
      sockets: 2,
      resources: 12,
      watches: 1,
    });
  });

  // NaN is never too much.
  test.each(METRICS)('throws without %s', (line) => {
    const metrics = STATE.metrics.replace(line, '');
    expect(() => parseSample({ ...STATE, metrics }, 0)).toThrow(/nothing matches/);
  });

  test('throws if memory is reported in another format', () => {
    const status = STATE.status.replace('kB\nVmRSS', 'kB\nRss');
    expect(() => parseSample({ ...STATE, status }, 0)).toThrow(/VmRSS/);
  });
});
