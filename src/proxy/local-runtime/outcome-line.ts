import type { LineState } from './local-runtime.ts';

/** The line to the API server as the outcomes of requests show it. */
export class OutcomeLine implements LineState {
  readonly #listeners = new Set<() => void>();
  #isDown = false;

  /** Records how a request ended. An error of the server leaves open whether it can be reached. */
  report(outcome: 'answered' | 'serverError' | 'silent' | 'unreachable'): void {
    if (outcome === 'serverError') return;
    const isDown = outcome !== 'answered';
    if (isDown === this.#isDown) return;
    this.#isDown = isDown;
    for (const listener of this.#listeners) listener();
  }

  isUnreachable(): boolean {
    return this.#isDown;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
