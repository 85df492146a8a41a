import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, type Registry } from '@prometheus-io/client';

/** How often the delay of the event loop is sampled, in milliseconds. A smaller value keeps an idle process busy. */
const EVENT_LOOP_TICK_MS = 100;

/**
 * Registers the metrics of the process that the dashboard and `npm run soak` use, with their usual names.
 *
 * Not collectDefaultMetrics(): it has a summary, which rotates once for every 12 s of a step of the clock. A node that
 * boots in 1970 and then gets the time answered nothing for 25 s.
 */
export function registerProcessMetrics(registry: Registry): void {
  const registers = [registry];
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time of the process, in seconds.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  const delay = monitorEventLoopDelay({ resolution: EVENT_LOOP_TICK_MS });
  delay.enable();
  const gauges: readonly [name: string, help: string, read: () => number][] = [
    [
      'process_resident_memory_bytes',
      'Resident memory of the process, in bytes.',
      () => process.memoryUsage.rss(),
    ],
    [
      'nodejs_heap_size_used_bytes',
      'Used heap of V8, in bytes.',
      () => process.memoryUsage().heapUsed,
    ],
    [
      'nodejs_external_memory_bytes',
      'Memory outside the heap that objects of the heap own, in bytes.',
      () => process.memoryUsage().external,
    ],
    [
      'nodejs_active_resources_total',
      'Timers, sockets, requests and others that keep the process alive.',
      () => process.getActiveResourcesInfo().length,
    ],
    [
      'nodejs_eventloop_lag_p99_seconds',
      'Delay of the event loop since the last scrape, 99th percentile, in seconds.',
      () => {
        const seconds = delay.percentile(99) / 1e9;
        delay.reset();
        return seconds;
      },
    ],
  ];
  for (const [name, help, read] of gauges) {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  }
}
