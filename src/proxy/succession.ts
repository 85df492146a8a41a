import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { objectKey } from '../filter/change.ts';
import type { VersionClock } from '../filter/version-clock.ts';
import type { View } from '../filter/view.ts';
import { Digests } from './digests.ts';
import { type LastState, readLastStates } from './last-states.ts';
import { questionKey } from './question.ts';
import type { ViewSource } from './view-source.ts';

export interface SuccessionOptions {
  readonly nodeName: string;
  /** What the process before tells when it ends, see Bequest; undefined: nothing. Never rejects. */
  readonly lastWords: Promise<string | undefined>;
  readonly clock: VersionClock;
  /** The views that are open. */
  readonly sources: () => readonly ViewSource[];
  readonly logger: Logger;
}

/** A watch from an unknown version waits for so long for the process before to tell, in milliseconds. */
const WAIT_MS = 1_000;
/** What that one had heard of, and this one has not, has to come within this time, in milliseconds. */
const CATCH_UP_MS = 1_000;
const POLL_MS = 10;
/** How far back in the log the changes may be that the process before had not heard of. */
const MAX_STEPS = 1_000;

/**
 * Lets the watches of the process before go on in this one. A client-go whose version is not known has to list
 * anew, and before it does, it waits: 0.8 to 1.6 s the first time, twice as long each time until it had two
 * quiet minutes (client-go reflector, backoffManager).
 *
 * A version of the process before is adopted if what its clients hold, and then the log from some position on,
 * makes what this one shows. That is so when all objects that differ have changed after that position; most
 * often nothing differs, and it is the end of the log. Else they get 410, as after any other restart.
 */
export class Succession {
  readonly #options: SuccessionOptions;
  readonly #done: Promise<void>;
  /** Until the process before has told. */
  #digests: Digests | undefined = new Digests();

  constructor(options: SuccessionOptions) {
    this.#options = options;
    this.#done = this.#succeed().catch((err: unknown) => {
      options.logger.error(
        { err },
        'watches of the last process cannot go on here: their clients list anew',
      );
    });
  }

  /**
   * Digests ahead what is shown here, so that what the process before tells is soon compared; ends early when it tells.
   */
  async prepare(): Promise<void> {
    await this.#digests?.prepare(this.#options.sources(), () => this.#digests !== undefined);
  }

  /** Waits until it is known which versions of the process before are adopted, but not for long. */
  async settled(): Promise<void> {
    const waited = new AbortController();
    const timer = delay(WAIT_MS, undefined, { signal: waited.signal }).catch(() => undefined);
    await Promise.race([this.#done, timer]);
    waited.abort();
  }

  async #succeed(): Promise<void> {
    const { lastWords, nodeName, clock, sources, logger } = this.#options;
    const text = await lastWords;
    const digests = this.#digests ?? new Digests();
    this.#digests = undefined;
    if (text === undefined) return;
    const open = new Map(sources().map((source) => [questionKey(source.question), source.view]));
    const states = readLastStates(text, nodeName);
    // Also those that are not adopted: no state of this process may ever have the version of another one.
    for (const { version } of states) clock.raise(version);
    const adopted = await Promise.all(
      states.map(async (state) => {
        const view = open.get(state.question);
        return view?.started === true && (await adopt(view, state, digests));
      }),
    );
    const views = states.filter((_, index) => adopted[index]).map(({ question }) => question);
    logger.info({ views, of: states.length }, 'watches of the last process go on here');
  }
}

/** Resolves with whether watches from that state can go on in this view. */
async function adopt(view: View, state: LastState, digests: Digests): Promise<boolean> {
  const { log } = view;
  const differing = differences(view, state, digests);
  const end = log.end;
  const deadline = performance.now() + CATCH_UP_MS;
  for (;;) {
    const position = positionBefore(view, differing, end, state.version);
    if (position !== undefined) {
      log.adopt(state.version, position);
      return true;
    }
    if (performance.now() > deadline) return false;
    await delay(POLL_MS);
  }
}

/** Keys of the objects that are not shown alike. */
function differences(view: View, last: LastState, digests: Digests): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const key of view.keys()) if (last.digests[key] !== digests.of(view, key)) keys.add(key);
  for (const key of Object.keys(last.digests)) if (view.get(key) === undefined) keys.add(key);
  return keys;
}

/**
 * A position, no later than `end`, from which on the log has a change of each of these objects, and nothing
 * but versions newer than this; undefined: there is none.
 */
function positionBefore(
  { log, codec }: View,
  keys: ReadonlySet<string>,
  end: number,
  version: bigint,
): number | undefined {
  const missing = new Set(keys);
  let position = log.end;
  for (let steps = 0; position > end || missing.size > 0; steps++) {
    const entry = log.at(position - 1);
    if (entry === undefined || entry.version <= version || steps > MAX_STEPS) return undefined;
    position--;
    missing.delete(objectKey(codec.meta(entry.object)));
  }
  return position;
}
