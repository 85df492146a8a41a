import { Recent } from '../../util/recent.ts';
import { TimeSlice } from '../explain/time-slice.ts';
import type { Metrics } from './metrics.ts';

/** How long a response is sent again, in milliseconds. Any local process can request it as often as it likes. */
const SHARED_MS = 1_000;
/** A response goes on when its first client leaves: others may share it. */
const NEVER = new AbortController().signal;

/** The text of the metrics. They are rendered one after the other, in time slices, at most once a second. */
export function metricsText({ registry, read }: Metrics): Recent<string> {
  return new Recent(SHARED_MS, async () => {
    read();
    const slice = new TimeSlice(NEVER);
    const texts: string[] = [];
    for (const { name } of registry.getMetricsAsArray()) {
      texts.push(await registry.getSingleMetricAsString(name));
      await slice.pause();
    }
    return `${texts.join('\n\n')}\n`;
  });
}
