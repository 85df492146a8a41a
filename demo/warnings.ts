import { type Logger, pino } from 'pino';

/** Warnings that are printed at a time. The others are counted. */
const MAX_PRINTED = 3;

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
    const line = `! the wrapper warns: ${formatWarning(json)}`;
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

/** A log line without the fields that mean nothing to a reader of the demo. */
function formatWarning(json: string): string {
  const {
    level: _,
    node: __,
    rv: ___,
    msg,
    err,
    ...fields
  } = JSON.parse(json) as {
    readonly msg?: string;
    readonly err?: { readonly message?: string };
    readonly [field: string]: unknown;
  };
  const error = err === undefined ? '' : `: ${err.message ?? String(err)}`;
  const about = Object.entries(fields).map(([name, value]) => {
    return `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`;
  });
  return `${msg}${error}${about.length === 0 ? '' : ` (${about.join(', ')})`}`;
}
