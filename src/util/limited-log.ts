import type { Level, Logger } from 'pino';
import { type Clock, systemClock } from './clock.ts';
import { TokenBucket } from './token-bucket.ts';

export interface LimitedLogOptions {
  readonly logger: Logger;
  /** Limits these lines too, with those of others; default: nothing does. */
  readonly within?: LimitedLog;
  /** Default: the machine's monotonic clock. */
  readonly clock?: Clock;
  /** Lines that may follow each other without a pause; default 5. */
  readonly burst?: number;
  /** Time until one more line may be written, in milliseconds; default 15,000: four lines a minute. */
  readonly refillMs?: number;
}

interface LogLine {
  readonly level: Level;
  readonly fields: object;
  readonly text: string;
}

/**
 * Bounds the lines about events that may repeat without end, for all who share it: by default nine in the first minute
 * and four in each further one. The latest line that did not fit is written as soon as there is room, with the number
 * of those that were left out (`omitted`). So the last line always shows the latest state.
 */
export class LimitedLog {
  readonly #logger: Logger;
  readonly #within: LimitedLog | undefined;
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  /** The latest line that did not fit; undefined while all were written. */
  #waiting: LogLine | undefined;
  #omitted = 0;
  #cancel: () => void = () => {};

  constructor(options: LimitedLogOptions) {
    const { logger, within, clock = systemClock, burst = 5, refillMs = 15_000 } = options;
    this.#logger = logger;
    this.#within = within;
    this.#clock = clock;
    this.#bucket = new TokenBucket({ burst, refillMs, now: () => clock.now() });
  }

  warn(fields: object, text: string): void {
    this.write('warn', fields, text);
  }

  info(fields: object, text: string): void {
    this.write('info', fields, text);
  }

  write(level: Level, fields: object, text: string): void {
    const line = { level, fields, text };
    if (this.#waiting !== undefined) {
      this.#omitted += 1 + omittedBefore(this.#waiting);
      this.#waiting = line;
      return;
    }
    const waitMs = this.#bucket.take();
    if (waitMs === 0) {
      this.#print(line);
      return;
    }
    this.#waiting = line;
    this.#cancel = this.#clock.after(waitMs, () => this.flush());
  }

  /** Writes the waiting line, when there is room or before the process ends. */
  flush(): void {
    this.#cancel();
    const line = this.#waiting;
    if (line === undefined) return;
    const omitted = this.#omitted + omittedBefore(line) || undefined;
    this.#waiting = undefined;
    this.#omitted = 0;
    this.#bucket.take();
    this.#print({ ...line, fields: { ...line.fields, omitted } });
  }

  #print({ level, fields, text }: LogLine): void {
    if (this.#within === undefined) this.#logger[level](fields, text);
    else this.#within.write(level, fields, text);
  }
}

/** Lines that another limit has left out before this one. */
function omittedBefore({ fields }: LogLine): number {
  return 'omitted' in fields && typeof fields.omitted === 'number' ? fields.omitted : 0;
}
