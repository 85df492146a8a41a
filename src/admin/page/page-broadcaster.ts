import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import { nodeState } from './node-state.ts';
import { PageStream } from './page-stream.ts';
import { ServiceTable } from './service-table.ts';

/** Maximum number of open pages. */
const MAX_PAGES = 8;
/** Time between two updates, in milliseconds. */
const PERIOD_MS = 200;
/** Time between two updates of the node state if no Service has changed, in milliseconds. */
const STATE_MS = 1_000;
/** Time between two flushes while many Services are explained, in milliseconds. */
const FLUSH_MS = 100;

/**
 * Sends changes to all open pages. Without an open page it keeps no data and runs no timer.
 *
 * Invariant: each stream ends with its connection or with close(). While a stream is open, exactly one loop runs, and
 * every row that changes becomes dirty in each stream.
 */
export class PageBroadcaster {
  readonly #proxy: NodeProxy;
  readonly #logger: Logger;
  readonly #streams = new Set<PageStream>();
  readonly #closed = new AbortController();
  #table: ServiceTable | undefined;
  #running: Promise<void> | undefined;
  #state = '';
  /** Time of #state. A change of a Service resets it, because the node state may have changed too. */
  #stateAt = Number.NEGATIVE_INFINITY;

  constructor(proxy: NodeProxy, logger: Logger) {
    this.#proxy = proxy;
    this.#logger = logger;
  }

  /** Starts to send events to a page. Returns false if too many pages are open. */
  open(response: ServerResponse): boolean {
    if (this.#streams.size >= MAX_PAGES || this.#closed.signal.aborted) return false;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    this.#proxy.views.openUsual();
    this.#table ??= new ServiceTable(this.#proxy);
    const stream = new PageStream(response, this.#table);
    this.#streams.add(stream);
    response.once('close', () => this.#streams.delete(stream));
    this.#running ??= this.#run(this.#table);
    return true;
  }

  /** Ends all streams, and waits for the loop. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#endAll();
    await this.#running;
  }

  async #run(table: ServiceTable): Promise<void> {
    try {
      for (;;) {
        await this.#update(table);
        await delay(PERIOD_MS, undefined, { signal: this.#closed.signal });
        // Checked last: a page that opens before this line uses this loop, a later one starts another.
        if (this.#streams.size === 0) return;
      }
    } catch (error) {
      if (this.#closed.signal.aborted) return;
      // The pages reconnect by themselves, and get a new table.
      this.#logger.error(
        { err: error },
        'the streams of open pages are closed because of an error; the pages reconnect',
      );
      this.#endAll();
    } finally {
      table.close();
      this.#table = undefined;
      this.#running = undefined;
    }
  }

  async #update(table: ServiceTable): Promise<void> {
    let flushedAt = Number.NEGATIVE_INFINITY;
    for await (const services of table.refresh()) {
      this.#stateAt = Number.NEGATIVE_INFINITY;
      for (const stream of this.#streams) stream.markDirty(services);
      const now = performance.now();
      if (now - flushedAt < FLUSH_MS) continue;
      this.#flush();
      flushedAt = now;
    }
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
