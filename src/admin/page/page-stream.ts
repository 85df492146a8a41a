import type { ServerResponse } from 'node:http';
import { recordOf } from '../explain/decisions.ts';
import type { Board } from './board.ts';

/** Rows in one event, so that the first are on the screen before the last are written. */
const ROWS_PER_EVENT = 1_000;
/** A page that takes nothing for this long is gone, in milliseconds. */
const STALL_MS = 30_000;
/** After this long without an event a comment is sent, which shows whether anybody is there, in milliseconds. */
const QUIET_MS = 15_000;

/**
 * The server-sent events of one open page. It holds no events but names of Services whose rows are to be
 * sent, and what they are when it is their turn, so that a slow page costs no more than a fast one.
 */
export class PageStream {
  readonly #response: ServerResponse;
  readonly #board: Board;
  readonly #owed: Set<string>;
  #state = '';
  #view: number | undefined;
  #decisions = 0;
  /** What the page was told to wait for. */
  #left = Number.POSITIVE_INFINITY;
  #wroteAt = performance.now();

  constructor(response: ServerResponse, board: Board) {
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
    if (quietMs > QUIET_MS) this.#send(':\n\n');
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
    const { view } = this.#board;
    if (view === undefined) return;
    const { journal } = view.projection;
    const { viewNumber } = this.#board;
    if (viewNumber !== this.#view) this.#decisions = 0;
    else if (journal.count === this.#decisions) return;
    const decisions = Array.from(journal.after(this.#decisions), recordOf);
    const { count } = journal;
    this.#view = viewNumber;
    this.#decisions = count;
    this.#write('decisions', JSON.stringify({ view: viewNumber, count, decisions }));
  }

  #write(event: string, data: string): void {
    this.#send(`event: ${event}\ndata: ${data}\n\n`);
  }

  #send(text: string): void {
    this.#wroteAt = performance.now();
    this.#response.write(text);
  }
}
