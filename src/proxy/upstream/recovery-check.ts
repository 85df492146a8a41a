import { isUsableResponse } from './usable-response.ts';

/** So many good answers in a row, and the server has recovered. */
const GOOD_ANSWERS = 2;

export interface RecoveryCheckOptions {
  /** Sends a health check; resolves with the status of the response, or undefined without one. Never rejects. */
  readonly probe: (server: URL) => Promise<number | undefined>;
  /** Called once after {@link GOOD_ANSWERS} good answers in a row; the check has stopped then. */
  readonly onRecovered: (server: URL) => void;
  /** Time between two health checks, in milliseconds. */
  readonly intervalMs: number;
}

/** Health-checks a server that is not in use until it has recovered. */
export class RecoveryCheck {
  readonly #options: RecoveryCheckOptions;
  /** The next health check, or the one under way; undefined while stopped. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RecoveryCheckOptions) {
    this.#options = options;
  }

  /** Starts to check a server. A check that is running is replaced. */
  start(server: URL): void {
    this.stop();
    this.#schedule(server, 0);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #schedule(server: URL, goodAnswers: number): void {
    const timer = setTimeout(async () => {
      const statusCode = await this.#options.probe(server);
      const isStopped = this.#timer !== timer;
      if (isStopped) return;
      const isGood = statusCode !== undefined && isUsableResponse(statusCode);
      const inARow = isGood ? goodAnswers + 1 : 0;
      if (inARow < GOOD_ANSWERS) {
        this.#schedule(server, inARow);
        return;
      }
      this.stop();
      this.#options.onRecovered(server);
    }, this.#options.intervalMs);
    timer.unref();
    this.#timer = timer;
  }
}
