import type { Logger } from 'pino';
import type { DecisionChange } from '../../filter/projection/decision-journal.ts';
import { keptByPolicy, winnerText } from '../../topology/state/service-outcome.ts';
import type { Clock } from '../../util/clock.ts';
import { LogShares } from '../../util/log-shares.ts';

/**
 * Logs the changed decisions of one view, so that they survive a restart: the journal is in memory. Changes without
 * room are counted in the next line of the Namespace (`omitted`). Only one view is logged: the first that reports a
 * change, until it closes.
 */
export class DecisionLog {
  readonly #log: LogShares;
  #owner: object | undefined;

  constructor(logger: Logger, clock: Clock) {
    this.#log = new LogShares(logger, clock);
  }

  /** @param view identifies the view that has decided */
  add(view: object, { service, from, to, cause }: DecisionChange): void {
    this.#owner ??= view;
    if (this.#owner !== view) return;
    const fields = {
      service,
      from: from && winnerText(from.outcome),
      to: to && winnerText(to.outcome),
      keptBefore: from && keptByPolicy(from.outcome),
      keptAfter: to && keptByPolicy(to.outcome),
      cause: cause.kind,
      subject: cause.subject,
    };
    this.#log.ofNamespace(service).info(fields, 'the decision about a Service changed');
  }

  /** The view has closed. */
  release(view: object): void {
    if (this.#owner === view) this.#owner = undefined;
  }

  /** Writes what waits for room. */
  close(): void {
    this.#log.close();
  }
}
