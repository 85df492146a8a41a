import type { Decisions } from '../src/admin/explain/decisions.ts';
import type { Explained } from '../src/admin/explain/explained-service.ts';
import type { NodeSummary } from '../src/admin/explain/node-summary.ts';
import type { ServiceSummaries } from '../src/admin/explain/service-summaries.ts';
import type { NodeDetails } from '../src/admin/page/node-details.ts';
import type { NodeStatus } from '../src/admin/status/status-line.ts';

/** What the page can show, by name. */
interface Parts {
  readonly node: NodeDetails;
  readonly status: NodeStatus;
  readonly summary: NodeSummary;
  readonly list: ServiceSummaries;
  readonly decisions: Decisions;
  readonly explained: Explained;
}

/** Paths of the parts that the page shows now; undefined: it does not show the part. */
export type Wanted = { readonly [Name in keyof Parts]?: string | undefined };

interface Answer<Body> {
  readonly path: string;
  readonly body?: Body;
  /** Why the wrapper did not answer the request. */
  readonly problem?: string;
}

export interface PageState {
  readonly connection: 'opening' | 'live' | 'lost';
  /** Time of the last answer, in milliseconds since the epoch; undefined: there was none. */
  readonly answeredAt: number | undefined;
  /** The last answers. An answer remains while the next one is under way, even if its path differs. */
  readonly answers: { readonly [Name in keyof Parts]?: Answer<Parts[Name]> };
}

/** Time between two rounds of requests, in milliseconds. */
const PERIOD_MS = 2_000;
/** The longest time between two rounds after failures, in milliseconds. */
const MAX_PERIOD_MS = 15_000;
/** A slow round is followed by a pause of this many times its length, so that a page costs little CPU of the node. */
const PAUSES = 4;
/** The longest pause after a slow round, in milliseconds. */
const MAX_PAUSE_MS = 5_000;
/** Timeout of a request, in milliseconds. The wrapper itself waits up to 5 s for its views. */
const TIMEOUT_MS = 10_000;
/** Why a request is aborted: nobody waits for it any more. */
const REPLACED = 'replaced';

/**
 * Requests what the page shows, again and again while the page is visible. There is at most one request at a time.
 *
 *   round: each wanted part in turn ──▶ pause, longer after failures ──▶ round
 *   want() with another path ──▶ only that part, now
 *   page hidden ──▶ nothing until it is visible
 */
export class Poller {
  state: PageState = { connection: 'opening', answeredAt: undefined, answers: {} };
  readonly #changed: () => void;
  #wanted: Wanted = {};
  /** Parts whose request is due. */
  readonly #due = new Set<keyof Parts>();
  #nextRound = 0;
  #failures = 0;
  #running: { readonly path: string; readonly controller: AbortController } | undefined;
  #wake = (): void => {};

  /** @param changed called after each change of the state */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Starts the requests. They end with the page. */
  start(): void {
    document.addEventListener('visibilitychange', () => this.#wake());
    void this.#run();
  }

  /** Replaces what is requested. */
  want(wanted: Wanted): void {
    this.#wanted = wanted;
    for (const name of namesOf(wanted)) {
      if (wanted[name] !== this.state.answers[name]?.path) this.#due.add(name);
    }
    const running = this.#running;
    const isUseless = running !== undefined && !Object.values(wanted).includes(running.path);
    if (isUseless) running.controller.abort(REPLACED);
    this.#wake();
  }

  /** Requests everything now. */
  refresh(): void {
    this.#nextRound = 0;
    this.#wake();
  }

  async #run(): Promise<never> {
    for (;;) {
      while (document.hidden) await this.#sleep(undefined);
      const from = performance.now();
      if (from >= this.#nextRound) {
        for (const name of namesOf(this.#wanted)) this.#due.add(name);
      }
      // A request that becomes due meanwhile is visited too.
      for (const name of this.#due) {
        this.#due.delete(name);
        await this.#request(name);
      }
      const now = performance.now();
      const pause = pauseAfter(now - from, this.#failures);
      this.#nextRound = now + pause;
      await this.#sleep(pause);
    }
  }

  /** @param ms undefined: until something happens */
  async #sleep(ms: number | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
  }

  async #request(name: keyof Parts): Promise<void> {
    const path = this.#wanted[name];
    if (path === undefined) return;
    const controller = new AbortController();
    this.#running = { path, controller };
    const { signal } = controller;
    const timer = setTimeout(() => controller.abort(), TIMEOUT_MS);
    try {
      const response = await fetch(path, { signal });
      const body = (await response.json()) as { readonly error?: string };
      const answer = response.ok ? { path, body } : { path, problem: body.error };
      const answers = { ...this.state.answers, [name]: answer };
      this.#failures = 0;
      this.#set({ connection: 'live', answeredAt: Date.now(), answers });
    } catch {
      if (signal.reason === REPLACED) return;
      this.#failures++;
      this.#set({ connection: 'lost' });
    } finally {
      clearTimeout(timer);
      this.#running = undefined;
    }
  }

  #set(part: Partial<PageState>): void {
    this.state = { ...this.state, ...part };
    this.#changed();
  }
}

/** @param spentMs length of the last round */
function pauseAfter(spentMs: number, failures: number): number {
  if (failures > 0) return Math.min(PERIOD_MS * 2 ** failures, MAX_PERIOD_MS);
  return Math.max(PERIOD_MS, Math.min(PAUSES * spentMs, MAX_PAUSE_MS));
}

function namesOf(wanted: Wanted): (keyof Parts)[] {
  return Object.keys(wanted) as (keyof Parts)[];
}
