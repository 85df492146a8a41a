import type { ObjectMeta } from '../../filter/codec/codec.ts';
import type { OwnReadMemory } from '../system/read-memory.ts';
import { Reflector, type ReflectorStatus } from './reflector.ts';
import type { ReflectorOptions } from './reflector-options.ts';

/** What all reflectors of this process share. */
export interface ReflectorContext
  extends Pick<
    ReflectorOptions<ObjectMeta>,
    'upstream' | 'versions' | 'logger' | 'readLimits' | 'snapshots'
  > {
  /** The account of the lists of the wrapper itself and of kube-proxy. */
  readonly ownMemory?: OwnReadMemory;
}

/** A reflector that runs. */
export interface RunningReflector {
  readonly status: ReflectorStatus;
  /** Ends it, and waits for it. */
  close(): Promise<void>;
}

/** Creates a reflector and runs it until it is closed. */
export function runReflector<Facts extends ObjectMeta>(
  options: ReflectorOptions<Facts>,
): RunningReflector {
  const controller = new AbortController();
  const reflector = new Reflector(options);
  const running = reflector.run(controller.signal);
  return {
    get status() {
      return reflector.status;
    },
    close() {
      controller.abort();
      return running;
    },
  };
}
