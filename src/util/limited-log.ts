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
  /** Names what it is about; empty: an event, of which only the latest waits. */
  readonly about: string;
}

/** Lines that wait: the latest may be no longer true when there is room. */
const MAX_WAITING = 4;

/**
 * Bounds the lines about events that may repeat without end, for all who share it: by default nine in the first minute
 * and four in each further one. The latest line that did not fit is written as soon as there is room, with the number
 * of those that were left out (`omitted`). So the last line always shows the latest state. A line that is no longer
 * true by then is left out too, see {@link forget}.
 */
export class LimitedLog {
  readonly #logger: Logger;
  readonly #within: LimitedLog | undefined;
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  /** The latest lines that did not fit, by what they are about; empty while all were written. */
  readonly #waiting = new Map<string, LogLine>();
  #omitted = 0;
  #cancel: () => void = () => {};

  constructor(options: LimitedLogOptions) {
    const { logger, within, clock = systemClock, burst = 5, refillMs = 15_000 } = options;
    this.#logger = logger;
    this.#within = within;
    this.#clock = clock;
    this.#bucket = new TokenBucket({ burst, refillMs, now: () => clock.now() });
  }

  warn(fields: object, text: string, about?: string): void {
    this.write('warn', fields, text, about);
  }

  info(fields: object, text: string): void {
    this.write('info', fields, text);
  }

  write(level: Level, fields: object, text: string, about = ''): void {
    const line = { level, fields, text, about };
    if (this.#waiting.size > 0) {
      this.#wait(line);
      return;
    }
    const waitMs = this.#bucket.take();
    if (waitMs === 0) {
      this.#print(line);
      return;
    }
    this.#wait(line);
    this.#cancel = this.#clock.after(waitMs, () => this.flush());
  }

  /** What lines about this say is no longer true: one that waits is left out. The next line counts it. */
  forget(about: string): void {
    this.#omit(about);
    if (this.#waiting.size === 0) this.#cancel();
    this.#within?.forget(about);
  }

  /** Writes the latest line that waits, when there is room or before the process ends. */
  flush(): void {
    this.#cancel();
    const line = [...this.#waiting.values()].at(-1);
    if (line === undefined) return;
    this.#waiting.delete(line.about);
    for (const about of [...this.#waiting.keys()]) this.#omit(about);
    this.#bucket.take();
    this.#print(line);
  }

  #wait(line: LogLine): void {
    this.#omit(line.about);
    this.#waiting.set(line.about, line);
    const [oldest = ''] = this.#waiting.keys();
    if (this.#waiting.size > MAX_WAITING) this.#omit(oldest);
  }

  #omit(about: string): void {
    const line = this.#waiting.get(about);
    if (line === undefined) return;
    this.#waiting.delete(about);
    this.#omitted += 1 + omittedBefore(line);
  }

  #print(line: LogLine): void {
    const { level, text, about } = line;
    const omitted = this.#omitted + omittedBefore(line) || undefined;
    this.#omitted = 0;
    const fields = omitted === undefined ? line.fields : { ...line.fields, omitted };
    if (this.#within === undefined) this.#logger[level](fields, text);
    else this.#within.write(level, fields, text, about);
  }
}

/** Lines that another limit has left out before this one. */
function omittedBefore({ fields }: LogLine): number {
  return 'omitted' in fields && typeof fields.omitted === 'number' ? fields.omitted : 0;
}
