/** Who holds a view: an https caller by its id, or {@link ANYONE}. */
export type Holder = string;

/** All clients of plain http, which cannot be distinguished. */
export const ANYONE: Holder = '';

/** What a charge needs of the budget. */
export interface ChargeLedger {
  claim(holder: Holder, bytes: number, charge: ViewCharge): void;
  move(from: Holder, to: Holder, bytes: number): boolean;
  /** Throws `LimitExceeded` if `move` returns false. */
  handOver(from: Holder, to: Holder, bytes: number): void;
  release(holder: Holder, bytes: number): void;
}

/** What one view takes of the budget, and the holder who is charged for it. */
export class ViewCharge {
  readonly #ledger: ChargeLedger;
  readonly #uses = new Map<Holder, number>();
  #holder: Holder;
  #bytes = 0;
  #open = true;

  constructor(ledger: ChargeLedger, holder: Holder) {
    this.#ledger = ledger;
    this.#holder = holder;
  }

  get holder(): Holder {
    return this.#holder;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Sets the bytes of the view. Throws `LimitExceeded` if there is no room for more; then nothing has changed. */
  resize(bytes: number): void {
    if (!this.#open) return;
    this.#ledger.claim(this.#holder, bytes - this.#bytes, this);
    this.#bytes = bytes;
  }

  /**
   * A request of this caller begins to read the view. An idle view is charged to the caller from now on. Throws
   * `LimitExceeded` if its share does not allow that, and then nothing has changed.
   */
  use(caller: Holder): void {
    const isIdle = this.#open && this.#uses.size === 0 && caller !== this.#holder;
    if (isIdle) {
      this.#ledger.handOver(this.#holder, caller, this.#bytes);
      this.#holder = caller;
    }
    this.#uses.set(caller, (this.#uses.get(caller) ?? 0) + 1);
  }

  /**
   * A request ends. If its caller was charged and others still read the view, one of them is charged from now on.
   * Returns false if none of these has room for it: the caller must close the view.
   */
  leave(caller: Holder): boolean {
    const uses = (this.#uses.get(caller) ?? 0) - 1;
    if (uses > 0) {
      this.#uses.set(caller, uses);
      return true;
    }
    this.#uses.delete(caller);
    if (!this.#open || caller !== this.#holder || this.#uses.size === 0) return true;
    for (const other of this.#uses.keys()) {
      if (!this.#ledger.move(this.#holder, other, this.#bytes)) continue;
      this.#holder = other;
      return true;
    }
    return false;
  }

  /** Returns everything to the budget. May be called again. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#ledger.release(this.#holder, this.#bytes);
    this.#bytes = 0;
  }
}
