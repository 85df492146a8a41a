import type { Registry } from '@prometheus-io/client';
import { SingleFlight } from '../../util/single-flight.ts';
import { TimeSlice } from '../explain/time-slice.ts';

/** How long a response is sent again, in milliseconds. Any local process can request it as often as it likes. */
const SHARED_MS = 1_000;
/** A response goes on when its first client leaves: others may share it. */
const NEVER = new AbortController().signal;

/** Reads the metrics one after the other, in time slices, at most once a second. All callers share a response. */
export class MetricsReader {
  readonly #registry: Registry;
  readonly #reading = new SingleFlight<string>();
  #last = '';
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async read(): Promise<string> {
    const isRecent = performance.now() - this.#readAt < SHARED_MS;
    return isRecent ? this.#last : await this.#reading.run(() => this.#read());
  }

  async #read(): Promise<string> {
    const slice = new TimeSlice(NEVER);
    const texts: string[] = [];
    for (const { name } of this.#registry.getMetricsAsArray()) {
      texts.push(await this.#registry.getSingleMetricAsString(name));
      await slice.pause();
    }
    this.#last = `${texts.join('\n\n')}\n`;
    this.#readAt = performance.now();
    return this.#last;
  }
}
