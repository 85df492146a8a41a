import type { ServerResponse } from 'node:http';
import { recordOf } from '../explain/decisions.ts';
import type { PageEvents } from './page-data.ts';
import type { ServiceTable } from './service-table.ts';

/** Rows in one event, so that the first are on the screen before the last are written. */
const ROWS_PER_EVENT = 1_000;
/** A page that takes nothing for this long is gone, in milliseconds. */
const STALL_MS = 30_000;
/** After this long without another event both sides are shown that the other one is there, in milliseconds. */
const QUIET_MS = 15_000;

/**
 * The server-sent events of one open page. It holds no events but names of Services whose rows are to be
 * sent, and what they are when it is their turn, so that a slow page costs no more than a fast one.
 */
export class PageStream {
  readonly #response: ServerResponse;
  readonly #board: ServiceTable;
  readonly #owed: Set<string>;
  #state = '';
  #view: number | undefined;
  #decisions = 0;
  /** What the page was told to wait for. */
  #left = Number.POSITIVE_INFINITY;
  #wroteAt = performance.now();

  constructor(response: ServerResponse, board: ServiceTable) {
    this.#response = response;
    this.#board = board;
    this.#owed = new Set(board.services());
    response.on('drain', () => this.flush(this.#state));
  }

  /** These rows are others now. */
  owe(services: readonly string[]): void {
    for (const service of services) this.#owed.add(service);
  }

  /**
   * Writes what the page does not know yet, as far as its socket takes it.
   *
   * @param state the NodeState, as JSON
   */
  flush(state: string): void {
    const response = this.#response;
    const quietMs = performance.now() - this.#wroteAt;
    if (response.writableNeedDrain) {
      if (quietMs > STALL_MS) response.destroy();
      return;
    }
    if (state !== this.#state) this.#write('state', state);
    this.#state = state;
    this.#writeDecisions();
    while (
      (this.#owed.size > 0 || this.#left > this.#board.waiting) &&
      !response.writableNeedDrain
    ) {
      this.#writeRows();
    }
    if (performance.now() - this.#wroteAt > QUIET_MS) this.#write('heartbeat', '{}');
  }

  end(): void {
    this.#response.end();
  }

  #writeRows(): void {
    const rows: string[] = [];
    const gone: string[] = [];
    for (const service of this.#owed) {
      if (rows.length + gone.length === ROWS_PER_EVENT) break;
      this.#owed.delete(service);
      const row = this.#board.row(service);
      if (row === undefined) gone.push(service);
      else rows.push(row);
    }
    this.#left = this.#owed.size + this.#board.waiting;
    const lists = `"rows":[${rows.join()}],"gone":${JSON.stringify(gone)}`;
    this.#write('rows', `{${lists},"left":${this.#left}}`);
  }

  #writeDecisions(): void {
    const { view, viewNumber } = this.#board;
    // Without a view there are none, which the page has to know too: it may have those of an earlier process.
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
