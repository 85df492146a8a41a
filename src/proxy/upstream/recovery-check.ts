import type { Judgement } from './judge-response.ts';

/** So many good answers in a row, and the server has recovered. */
const GOOD_ANSWERS = 2;
/** How long a health check may take, in milliseconds. */
const PROBE_MS = 2_000;
/** After a good answer the next health check is sent so much sooner. */
const SOONER = 3;

export interface RecoveryCheckOptions {
  /** Sends a health check that takes at most `ms`; resolves with undefined without an answer. Never rejects. */
  readonly probe: (server: URL, ms: number) => Promise<Judgement | undefined>;
  /** Called once after {@link GOOD_ANSWERS} good answers in a row; the check has stopped then. */
  readonly onRecovered: (server: URL) => void;
  /**
   * The longest time between two health checks, in milliseconds. Up to half of it is removed at random, so that the
   * nodes of a cluster do not check in step.
   */
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
    const { intervalMs } = this.#options;
    const pause =
      (goodAnswers === 0 ? intervalMs : intervalMs / SOONER) * (0.5 + 0.5 * Math.random());
    const timer = setTimeout(async () => {
      const judgement = await this.#options.probe(server, PROBE_MS);
      const isStopped = this.#timer !== timer;
      if (isStopped) return;
      const inARow = judgement === 'usable' ? goodAnswers + 1 : 0;
      if (inARow < GOOD_ANSWERS) {
        this.#schedule(server, inARow);
        return;
      }
      this.stop();
      this.#options.onRecovered(server);
    }, pause);
    timer.unref();
    this.#timer = timer;
  }
}
