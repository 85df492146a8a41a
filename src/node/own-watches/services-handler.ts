import type { ServiceFacts } from '../../filter/codec/codec.ts';
import type { Change, ChangeHandler } from '../../filter/objects/change.ts';
import { portId } from '../../topology/decide/endpoint.ts';
import type { Policy } from '../../topology/policy/policy.ts';
import type { PolicyResolver } from '../../topology/policy/policy-resolver.ts';
import type { ServiceDescription } from '../../topology/policy/service-policy.ts';
import { readerOf } from '../../topology/policy/service-reader.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { Interner } from '../../util/interner.ts';
import type { PolicyLog } from './policy-log.ts';

/** What a handler of policies changes and reports to. */
export interface PolicyHandlerOptions {
  readonly topology: Topology;
  readonly policyResolver: PolicyResolver;
  readonly policyLog: PolicyLog;
}

/**
 * Sets the policy of each Service in the topology, and logs each error in its annotations once.
 *
 * When the Services are read with another query, a new handler takes over. Until its first list, what the last one has
 * set remains active. With that list, Services that it does not contain are deleted.
 */
export class ServicesHandler implements ChangeHandler<ServiceFacts> {
  readonly #options: PolicyHandlerOptions;
  /** Thousands of Services have a few different lists of ports. */
  readonly #ports = new Interner<readonly string[]>();
  #hasListed = false;

  constructor(options: PolicyHandlerOptions) {
    this.#options = options;
  }

  onChanges(changes: readonly Change<ServiceFacts>[]): void {
    const deletions = this.#hasListed ? [] : this.#deletionsBeside(changes);
    this.#hasListed = true;
    this.#apply([...changes, ...deletions]);
  }

  /** Deletes each Service that the topology has and that a list does not contain. */
  #deletionsBeside(list: readonly Change<ServiceFacts>[]): Change<ServiceFacts>[] {
    const listed = new Set(list.map(({ key }) => key));
    const known = [...this.#options.topology.policies.services()];
    return known.filter((key) => !listed.has(key)).map((key) => ({ type: 'DELETED', key }));
  }

  #apply(changes: readonly Change<ServiceFacts>[]): void {
    const { topology, policyResolver, policyLog } = this.#options;
    const policies = new Map<string, Policy | undefined>();
    const ports = new Map<string, readonly string[] | undefined>();
    for (const change of changes) {
      if (change.type === 'DELETED') {
        policyResolver.deleteService(change.key);
        policies.set(change.key, undefined);
      } else {
        policies.set(change.key, policyResolver.setService(describeService(change.facts)));
        ports.set(change.key, this.#portsOf(change.facts));
      }
    }
    policyLog.reportServices(topology.policies, policies);
    topology.setPolicies(policies, ports);
  }

  onSynced(): void {
    this.#options.topology.setSynced('services');
  }

  #portsOf(facts: ServiceFacts): readonly string[] | undefined {
    const ports = decidedPorts(facts);
    return ports && this.#ports.intern(ports.join('\n'), () => ports);
  }
}

const FAMILIES: readonly string[] = ['IPv4', 'IPv6'];

/**
 * The ports that decisions about a Service are taken for, by portId; undefined: the ports of its slices. Who reads a
 * headless Service takes ports from the slices, as DNS servers do. Any other Service has ports and families, but a
 * manifest may lack them. kube-proxy uses no slices of other families (pkg/proxy/servicechangetracker.go).
 */
export function decidedPorts(facts: ServiceFacts): readonly string[] | undefined {
  const { ports, ipFamilies } = facts;
  if (readerOf(facts) === 'dns' || ports.length === 0) return undefined;
  const isAny = ipFamilies.length === 0;
  const families = FAMILIES.filter((family) => isAny || ipFamilies.includes(family));
  return families.flatMap((family) => ports.map((port) => portId({ family, port })));
}

/** The parts of a Service that its policy depends on. */
export function describeService(facts: ServiceFacts): ServiceDescription {
  return {
    namespace: facts.namespace,
    name: facts.name,
    labels: facts.labels,
    annotations: facts.annotations,
    headless: facts.clusterIP === 'None',
    isUnread: readerOf(facts) === undefined || undefined,
    internalLocal: facts.internalTrafficPolicy === 'Local',
    externalLocal: facts.externalTrafficPolicy === 'Local',
    trafficDistribution: facts.trafficDistribution,
  };
}
