import { WrapperError } from '../../errors.ts';
import { LinkedAbortController } from '../../util/linked-abort-controller.ts';

/**
 * Ends the request after `ms`, because of what the API server did not do.
 *
 * @param silentMs for how long nothing has arrived then; default: `ms`
 */
type SetLimit = (ms: number, omission: string, silentMs?: number) => Limit;

export interface Limit {
  /** Starts the time again. */
  restart(): void;
  /** Ends nothing until it is started again. */
  stop(): void;
}

/**
 * Sends a request and ends it if it makes no progress: a peer that is gone sends no FIN, and a hostile one sends a byte
 * now and then. Throws what `send` throws, or which limit was exceeded. Nothing of the request is left then.
 */
export async function withTimeouts<T>(
  outer: AbortSignal,
  send: (signal: AbortSignal, limit: SetLimit) => Promise<T>,
): Promise<T> {
  const request = new LinkedAbortController(outer);
  const { signal } = request;
  const stops: (() => void)[] = [];
  try {
    return await send(signal, (ms, omission, silentMs = ms) => {
      const message = `the API server ${omission} for ${ms / 1000} s`;
      const late = new WrapperError('Unreachable', message, { silentMs });
      let timer: NodeJS.Timeout;
      let expiring: NodeJS.Immediate | undefined;
      const stop = (): void => {
        clearTimeout(timer);
        clearImmediate(expiring);
      };
      // After a turn of the event loop that took long, what has arrived meanwhile is read first.
      const expire = (): void => {
        expiring = setImmediate(() => request.abort(late));
      };
      const restart = (): void => {
        stop();
        // Bytes may arrive after its end.
        if (signal.aborted) return;
        timer = setTimeout(expire, ms);
      };
      restart();
      stops.push(stop);
      return { restart, stop };
    });
  } catch (error) {
    throw signal.aborted && !outer.aborted ? signal.reason : error;
  } finally {
    for (const stop of stops) stop();
    request.release();
    request.abort();
  }
}
