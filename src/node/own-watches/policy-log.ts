import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Policy } from '../../topology/policy/policy.ts';
import type { PolicyStates } from '../../topology/state/policy-states.ts';
import { type Clock, systemClock } from '../../util/clock.ts';
import { LimitedLog } from '../../util/limited-log.ts';

/** Each Namespace has 5 lines at once, and then one a minute. */
const NAMESPACE_LOG_LIMIT = { burst: 5, refillMs: 60_000 } as const;
/** Namespaces whose lines are counted; when there are more, the one without a line for longest starts again. */
const MAX_NAMESPACES = 1_000;

type Ignored = Pick<Policy, 'ignored'>;

/**
 * Logs what is wrong with annotations of Services and Namespaces. Whoever owns a Namespace can write as many as it
 * likes, so each Namespace has its own limit: it leaves the lines of the others alone.
 */
export class PolicyLog {
  readonly #logs: LRUCache<string, LimitedLog>;

  constructor(logger: Logger, clock: Clock = systemClock) {
    this.#logs = new LRUCache<string, LimitedLog>({
      max: MAX_NAMESPACES,
      memoMethod: () => new LimitedLog({ logger, clock, ...NAMESPACE_LOG_LIMIT }),
      dispose: (log) => log.flush(),
    });
  }

  /** Logs what is wrong with the policies of Services, once each. Call it before they are set. */
  reportServices(known: PolicyStates, policies: ReadonlyMap<string, Policy | undefined>): void {
    for (const [service, policy] of policies) {
      if (policy !== undefined) this.#report(service, known.pendingOrActive(service), policy);
    }
  }

  /** Logs annotations without effect, unless they were the same before. */
  reportIgnored(of: 'Service' | 'Namespace', key: string, now: Ignored, before: Ignored): void {
    if (now.ignored === undefined || now.ignored.join() === before.ignored?.join()) return;
    const fields = { [of.toLowerCase()]: key, err: now.ignored.join('; ') };
    this.warn(key, fields, `annotations of the ${of} have no effect`);
  }

  /** @param key of the Namespace, or of an object in it */
  warn(key: string, fields: object, text: string): void {
    const [namespace = ''] = key.split('/', 1);
    this.#logs.memo(namespace).warn(fields, text);
  }

  /** Other changes of the Service, for example of its status, do not repeat a line. */
  #report(service: string, before: Policy, policy: Policy): void {
    this.reportIgnored('Service', service, policy, before);
    // An error in a Namespace is reported once, for the Namespace.
    if (policy.managed || policy.reason !== 'invalid-policy' || policy.ofNamespace === true) return;
    if (!before.managed && before.message === policy.message) return;
    const text = 'the topology policy is invalid; the Service is unfiltered';
    this.warn(service, { service, err: policy.message }, text);
  }

  /** Writes what waits for room. */
  close(): void {
    this.#logs.clear();
  }
}
