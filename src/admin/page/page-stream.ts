import type { ServerResponse } from 'node:http';
import { recordOf } from '../explain/decisions.ts';
import type { PageEvents } from './page-data.ts';
import type { ServiceTable } from './service-table.ts';

/** Maximum number of rows in one event, so that the page shows the first ones before the last ones are written. */
const ROWS_PER_EVENT = 1_000;
/** A page that reads nothing for this long is disconnected, in milliseconds. */
const WRITE_TIMEOUT_MS = 30_000;
/** A heartbeat is sent after this long without another event, in milliseconds. */
const HEARTBEAT_MS = 15_000;

/**
 * The server-sent events of one open page. It does not queue events. It keeps only the names of Services whose rows
 * are dirty, and sends their rows as they are when the socket has room. So a slow page needs no more memory.
 */
export class PageStream {
  readonly #response: ServerResponse;
  readonly #table: ServiceTable;
  readonly #dirty: Set<string>;
  #state = '';
  #view: number | undefined;
  #decisions = 0;
  /** The last `left` that was sent. */
  #left = Number.POSITIVE_INFINITY;
  #wroteAt = performance.now();

  constructor(response: ServerResponse, table: ServiceTable) {
    this.#response = response;
    this.#table = table;
    this.#dirty = new Set(table.services());
    response.on('drain', () => this.flush(this.#state));
  }

  /** Marks rows as changed, so that the next flush sends them. */
  markDirty(services: readonly string[]): void {
    for (const service of services) this.#dirty.add(service);
  }

  /**
   * Writes what has changed since the last flush, until the buffer of the socket is full.
   *
   * @param state the NodeState as JSON
   */
  flush(state: string): void {
    const response = this.#response;
    const quietMs = performance.now() - this.#wroteAt;
    if (response.writableNeedDrain) {
      if (quietMs > WRITE_TIMEOUT_MS) response.destroy();
      return;
    }
    if (state !== this.#state) this.#write('state', state);
    this.#state = state;
    this.#writeDecisions();
    while (
      (this.#dirty.size > 0 || this.#left > this.#table.dirtyCount) &&
      !response.writableNeedDrain
    ) {
      this.#writeRows();
    }
    if (performance.now() - this.#wroteAt > HEARTBEAT_MS) this.#write('heartbeat', '{}');
  }

  end(): void {
    this.#response.end();
  }

  #writeRows(): void {
    const rows: string[] = [];
    const gone: string[] = [];
    for (const service of this.#dirty) {
      if (rows.length + gone.length === ROWS_PER_EVENT) break;
      this.#dirty.delete(service);
      const row = this.#table.row(service);
      if (row === undefined) gone.push(service);
      else rows.push(row);
    }
    this.#left = this.#dirty.size + this.#table.dirtyCount;
    const lists = `"rows":[${rows.join()}],"gone":${JSON.stringify(gone)}`;
    this.#write('rows', `{${lists},"left":${this.#left}}`);
  }

  #writeDecisions(): void {
    const { view, viewNumber } = this.#table;
    // An empty list is sent too if there is no view, because the page may show decisions of an earlier process.
    const journal = view?.projection.journal;
    const count = journal?.count ?? 0;
    if (viewNumber !== this.#view) this.#decisions = 0;
    else if (count === this.#decisions) return;
    const decisions = Array.from(journal?.after(this.#decisions) ?? [], recordOf);
    this.#view = viewNumber;
    this.#decisions = count;
    this.#write('decisions', JSON.stringify({ view: viewNumber, count, decisions }));
  }

  #write(event: keyof PageEvents, data: string): void {
    this.#wroteAt = performance.now();
    this.#response.write(`event: ${event}\ndata: ${data}\n\n`);
  }
}
