import { type Logger, pino } from 'pino';
import { formatLogMessage } from '../src/commands/format-log-line.ts';

/** Warnings that are printed at a time. The others are counted. */
const MAX_PRINTED = 5;

/** Collects what the wrappers of the demo log at level warn and above, as lines for people. */
export class Warnings {
  readonly logger: Logger;
  readonly #onWarning: () => void;
  #lines: string[] = [];
  #omitted = 0;

  /** @param onWarning called after each warning */
  constructor(onWarning: () => void) {
    this.#onWarning = onWarning;
    const formatters = { level: (level: string) => ({ level }) };
    this.logger = pino(
      { level: 'warn', base: null, timestamp: false, formatters },
      { write: (line) => this.#add(line) },
    );
  }

  /** The warnings since the last call. */
  take(): string[] {
    const lines = this.#lines;
    if (this.#omitted > 0) lines.push(`! and ${this.#omitted} more warnings`);
    this.#lines = [];
    this.#omitted = 0;
    return lines;
  }

  #add(json: string): void {
    const line = `! the wrapper warns: ${formatLogMessage(json)}`;
    // The wrappers of several nodes see the same cluster.
    if (this.#lines.includes(line)) return;
    if (this.#lines.length < MAX_PRINTED) {
      this.#lines.push(line);
    } else {
      this.#omitted += 1;
    }
    this.#onWarning();
  }
}
