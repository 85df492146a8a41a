import type { Logger } from 'pino';
import { LimitedLog } from '../util/limited-log.ts';
import { OncePerCause } from '../util/once-per-cause.ts';

/** How often the log follows, in milliseconds. */
const LOOK_MS = 1_000;
/** How long a relay may take at its start before the log says what it waits for, in milliseconds. */
const START_MS = 10_000;

/**
 * Logs when a relay is ready, and when and why it is not. Returns how to stop.
 *
 * @param problemOf why it is not ready now; undefined: it is
 */
export function logReadiness(
  problemOf: () => string | undefined,
  logger: Logger,
  { lookMs = LOOK_MS, startMs = START_MS } = {},
): () => void {
  const log = new LimitedLog({ logger });
  const failure = new OncePerCause();
  const patientUntil = performance.now() + startMs;
  let wasReady = false;
  const look = (): void => {
    const problem = problemOf();
    if (problem === undefined) {
      if (failure.succeed() || !wasReady) log.info({}, 'ready');
      wasReady = true;
    } else if (wasReady || performance.now() > patientUntil) {
      const text = 'not ready: nodes read from another relay or the API server meanwhile';
      if (failure.fail(problem)) log.warn({ err: problem }, text);
    }
  };
  const timer = setInterval(look, lookMs).unref();
  return () => {
    clearInterval(timer);
    log.flush();
  };
}
