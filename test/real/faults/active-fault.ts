import type { Problem } from './bounds.ts';

/** A fault that has begun. */
export interface ActiveFault {
  /** Ends it. Resolves when the API server answers again, so that the time to be right again begins. */
  end(): Promise<void>;
  /** Connections, requests or processes that it has harmed so far; with 0 it does not count. */
  hits(): number;
  /** What the kind itself has found, after its end. */
  problems?(): readonly Problem[];
}
