import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import { nodeState } from './node-state.ts';
import { PageStream } from './page-stream.ts';
import { ServiceTable } from './service-table.ts';

/** Pages that may be open at once. */
const MAX_PAGES = 8;
/** Time between looks at what has changed, in milliseconds. */
const PERIOD_MS = 200;
/** Time between looks at the node's state when nothing has changed, in milliseconds. */
const STATE_MS = 1_000;
/** While many Services are explained, those that are ready are sent this often, in milliseconds. */
const FLUSH_MS = 100;

/**
 * Feeds the open pages. Nothing is kept and nothing runs while there is none.
 *
 * Invariant: each stream ends with its connection, or with the feed; while there is any, one loop runs, and
 * every row that changes is owed to each of them.
 */
export class PageBroadcaster {
  readonly #proxy: NodeProxy;
  readonly #logger: Logger;
  readonly #streams = new Set<PageStream>();
  readonly #closed = new AbortController();
  #board: ServiceTable | undefined;
  #running: Promise<void> | undefined;
  #state = '';
  /** When that was made; what changes a Service may have changed it too. */
  #stateAt = Number.NEGATIVE_INFINITY;

  constructor(proxy: NodeProxy, logger: Logger) {
    this.#proxy = proxy;
    this.#logger = logger;
  }

  /** Pages that are open. */
  get pages(): number {
    return this.#streams.size;
  }

  /** Sends events from now on; false: too many pages are open. */
  open(response: ServerResponse): boolean {
    if (this.#streams.size >= MAX_PAGES || this.#closed.signal.aborted) return false;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    this.#board ??= new ServiceTable(this.#proxy);
    const stream = new PageStream(response, this.#board);
    this.#streams.add(stream);
    response.once('close', () => this.#streams.delete(stream));
    this.#running ??= this.#run(this.#board);
    return true;
  }

  /** Ends all streams, and waits for the loop. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#endAll();
    await this.#running;
  }

  async #run(board: ServiceTable): Promise<void> {
    try {
      for (;;) {
        await this.#look(board);
        await delay(PERIOD_MS, undefined, { signal: this.#closed.signal });
        // Looked at last, so that a page that comes in the meantime finds this loop or starts another.
        if (this.#streams.size === 0) return;
      }
    } catch (error) {
      if (this.#closed.signal.aborted) return;
      // The pages come again by themselves, and find a board made anew.
      this.#logger.error({ err: error }, 'the pages are ended');
      this.#endAll();
    } finally {
      board.close();
      this.#board = undefined;
      this.#running = undefined;
    }
  }

  async #look(board: ServiceTable): Promise<void> {
    let flushed = Number.NEGATIVE_INFINITY;
    await board.refresh((services) => {
      this.#stateAt = Number.NEGATIVE_INFINITY;
      for (const stream of this.#streams) stream.owe(services);
      const now = performance.now();
      if (now - flushed < FLUSH_MS) return;
      this.#flush();
      flushed = now;
    });
    this.#flush();
  }

  #flush(): void {
    const now = performance.now();
    if (now - this.#stateAt >= STATE_MS) {
      this.#state = JSON.stringify(nodeState(this.#proxy));
      this.#stateAt = now;
    }
    for (const stream of this.#streams) stream.flush(this.#state);
  }

  #endAll(): void {
    for (const stream of this.#streams) stream.end();
    this.#streams.clear();
  }
}
