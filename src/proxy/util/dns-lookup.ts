import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

/**
 * Resolves names, each once at a time, whoever asks. A lookup at a resolver that is silent cannot be given up: those of
 * requests that were given up would pile up before the ones that could succeed.
 *
 * @param resolve default: that of the operating system
 */
export function shareLookups(resolve: LookupFunction = lookup): LookupFunction {
  const pending = new Map<string, Parameters<LookupFunction>[2][]>();
  return (hostname, options, callback) => {
    const key = JSON.stringify([hostname, options.family, options.hints, options.all]);
    const waiting = pending.get(key);
    if (waiting !== undefined) {
      waiting.push(callback);
      return;
    }
    const callbacks = [callback];
    pending.set(key, callbacks);
    resolve(hostname, options, (...answer) => {
      pending.delete(key);
      for (const each of callbacks) each(...answer);
    });
  };
}

/**
 * How all agents come to an API server. Of a name with several addresses Node tries one after the other, and gives
 * all but the last 250 ms only: too short for a slow link, on which no address was reached then.
 */
export const ADDRESSING = {
  lookup: shareLookups(),
  /** For each address, in milliseconds: of the 5 s that a connection may take (upstream-connections.ts). */
  autoSelectFamilyAttemptTimeout: 1_500,
} as const;
