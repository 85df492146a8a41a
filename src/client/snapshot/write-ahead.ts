import type { Logger } from 'pino';
import { bugText } from '../../errors.ts';
import type { Encoding, OwnNodeFacts } from '../../filter/codec/codec.ts';
import type { Change, ChangeHandler } from '../../filter/objects/change.ts';
import { messageOf } from '../../util/message-of.ts';
import { withTimeout } from '../../util/with-timeout.ts';

export interface WriteAheadOptions {
  /** Writes the newest state of the query. Resolves when it is on disk, or cannot be written. Never rejects. */
  readonly write: () => Promise<void>;
  readonly handler: ChangeHandler<OwnNodeFacts>;
  readonly logger: Logger;
}

/** A call of the handler, and the identity of the Node after it. */
interface Call {
  readonly identity: string | undefined;
  readonly run: () => void;
}

/** How long a change waits for the disk, in milliseconds. */
const DISK_MS = 1_000;
/** So many calls wait at most; one brings the events of one turn of the event loop. */
const MAX_WAITING = 16;
const NO_NODE = '';

/**
 * Writes the own Node to disk before it is shown, if the change ends a kube-proxy: since 1.37 it exits when its Node is
 * deleted, and when its addresses or Pod ranges change. Otherwise a wrapper that is killed, and starts while the API
 * server is unreachable, would show the next kube-proxy the Node of before, and end it once more.
 *
 * Invariant: the identity of the Node on disk is the one that was shown last, or a newer one. There is one exception: a
 * disk that fails, or is slower than {@link DISK_MS}, does not keep the change from kube-proxy.
 */
export class WriteAhead implements ChangeHandler<OwnNodeFacts> {
  readonly #options: WriteAheadOptions;
  /** The identity after the last call that arrived, and the one that was shown last; undefined: not known yet. */
  #arrived: string | undefined;
  #shown: string | undefined;
  #waiting: Call[] = [];

  constructor(options: WriteAheadOptions) {
    this.#options = options;
  }

  onChanges(changes: readonly Change<OwnNodeFacts>[]): void {
    this.#arrive(changes);
    this.#pass(() => this.#options.handler.onChanges(changes));
  }

  onSynced(): void {
    this.#pass(() => this.#options.handler.onSynced());
  }

  /** The encoding waits with the Node: a view must never hold an object in another encoding than its own. */
  onReencoded(encoding: Encoding, changes: readonly Change<OwnNodeFacts>[]): void {
    this.#arrive(changes);
    this.#pass(() => this.#options.handler.onReencoded?.(encoding, changes));
  }

  #arrive(changes: readonly Change<OwnNodeFacts>[]): void {
    const last = changes.at(-1);
    if (last === undefined) this.#arrived ??= NO_NODE;
    else this.#arrived = last.type === 'DELETED' ? NO_NODE : last.facts.identity;
  }

  #pass(run: () => void): void {
    const identity = this.#arrived;
    if (this.#waiting.length === 0 && identity === this.#shown) run();
    else if (this.#waiting.push({ identity, run }) === 1) void this.#drain();
    else if (this.#waiting.length > MAX_WAITING) this.#show(this.#waiting);
  }

  async #drain(): Promise<void> {
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      if (next.identity !== this.#shown) await this.#write();
      // Unless all were shown meanwhile.
      if (this.#waiting[0] === next) this.#showLater(next);
    }
  }

  /** The state is taken when the disk is free, so it has all changes that have arrived by now. */
  async #write(): Promise<void> {
    const { write, logger } = this.#options;
    try {
      await withTimeout(DISK_MS, write());
    } catch (error) {
      const text = 'the own Node is shown before it is on disk (stateDir)';
      logger.warn({ err: messageOf(error) }, text);
    }
  }

  /** Nobody waits for this call: that of its events has returned. */
  #showLater(call: Call): void {
    try {
      this.#show([call]);
    } catch (err) {
      const consequence = 'a change of the own Node may not be shown';
      this.#options.logger.error({ err }, bugText(consequence));
    }
  }

  /** Throws what the handler throws. The call is not repeated. */
  #show(calls: readonly Call[]): void {
    for (const { identity, run } of [...calls]) {
      this.#shown = identity;
      this.#waiting.shift();
      run();
    }
  }
}
