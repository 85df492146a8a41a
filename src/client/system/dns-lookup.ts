import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { SingleFlight } from '../../util/single-flight.ts';

type Answer = Parameters<Parameters<LookupFunction>[2]>;

/**
 * Shares lookups of the same name that run at the same time. A lookup at a silent resolver cannot be aborted. Lookups
 * of aborted requests would therefore delay those that could succeed.
 *
 * @param resolve default: the resolver of the operating system
 */
export function shareLookups(resolve: LookupFunction = lookup): LookupFunction {
  const lookups = new SingleFlight<Answer>();
  return async (hostname, options, callback) => {
    const key = JSON.stringify([hostname, options.family, options.hints, options.all]);
    const look = () =>
      new Promise<Answer>((found) => {
        resolve(hostname, options, (...answer) => found(answer));
      });
    // biome-ignore lint/plugin: an answer has two or three values
    callback(...(await lookups.run(look, key)));
  };
}

/**
 * Options of all agents for connections to an API server. If a name has several addresses, Node tries one after the
 * other, and each but the last one for 250 ms only. On a slow link that is too short to reach any of them.
 */
export const ADDRESSING = {
  lookup: shareLookups(),
  /** Time for each address, in milliseconds. It is part of the 5 s for a connection (line.ts). */
  autoSelectFamilyAttemptTimeout: 1_500,
} as const;
