import type { Logger } from 'pino';
import type { Failover } from '../../client/upstream/failover.ts';
import { fullGroupsOf } from '../../filter/projection/endpoint-index.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { addressText } from '../../util/address.ts';
import type { ViewRegistry } from '../views/view-registry.ts';
import { relayUrl } from './read-relays.ts';
import type { Remembered, RememberedRelays } from './remembered-relays.ts';
import { type SelectedRelays, selectRelays } from './select-relays.ts';

/*
 * The room `relays`: where the relays of this site are. It must not send anything, or ask for what kube-proxy does not
 * read.
 *   relay-finder.ts       follows the view of kube-proxy
 *   read-relays.ts        what is tried at the start
 *   select-relays.ts      what the policy of their Service selects, in the order of this node
 *   remembered-relays.ts  the last selection, on disk
 */

export interface RelayFinderOptions {
  /** `namespace/name` of the Service of the relays. */
  readonly service: string;
  readonly views: Pick<ViewRegistry, 'batches' | 'kubeProxy'>;
  readonly topology: Topology;
  /** Undefined: nothing is kept on disk. */
  readonly remembered: RememberedRelays | undefined;
  readonly failover: Pick<Failover, 'replaceRelays'>;
  readonly logger: Logger;
  /** Default 1,000, in milliseconds. */
  readonly pollMs?: number;
}

const POLL_MS = 1_000;

/**
 * Follows which relays the policy of their Service selects for this node. It looks once a second whether anything has
 * changed, so that an event costs nothing more.
 *
 * Invariant: the relays in use are among those that were selected last. While no view of endpoints is complete, these
 * are the ones from disk, which a slow one has later.
 */
export class RelayFinder {
  readonly #options: RelayFinderOptions;
  readonly #timer: NodeJS.Timeout;
  #batches = 0;
  #last = '';
  #isSelected = false;

  constructor(options: RelayFinderOptions) {
    const { pollMs = POLL_MS, remembered } = options;
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), pollMs).unref();
    void remembered?.read.then(({ addresses }) => this.#use(addresses));
  }

  close(): void {
    clearInterval(this.#timer);
    this.#isSelected = true;
    this.#options.remembered?.close();
  }

  /** Uses the relays from disk, unless others were selected by now, or this process ends. */
  #use(addresses: Remembered['addresses']): void {
    if (!this.#isSelected) this.#options.failover.replaceRelays(addresses.map(relayUrl));
  }

  #look(): void {
    const { batches } = this.#options.views;
    if (batches === this.#batches) return;
    this.#batches = batches;
    const selected = this.#select();
    if (selected === undefined) return;
    this.#isSelected = true;
    const { addresses, problem } = selected;
    const { remembered, failover } = this.#options;
    remembered?.update(addresses);
    this.#log(selected);
    failover.replaceRelays(addresses.map(relayUrl), problem);
  }

  #select(): SelectedRelays | undefined {
    const { service, topology, views } = this.#options;
    const source = views.kubeProxy.endpoints;
    if (source?.view.started !== true) return undefined;
    const { objects } = source.projection.inspect(service);
    return selectRelays(topology, {
      service,
      groups: objects.flatMap(({ groups }) => groups),
      full: objects.flatMap((object) => fullGroupsOf(object, source.view)),
    });
  }

  /** The order is not logged: it changes whenever a relay becomes ready. */
  #log({ addresses, problem }: SelectedRelays): void {
    const { service, logger } = this.#options;
    const relays = addresses.map(addressText).sort();
    const now = `${problem} ${relays}`;
    if (now === this.#last) return;
    this.#last = now;
    if (problem === undefined)
      logger.info({ service, relays }, 'these are the relays of this node');
    else logger.warn({ err: problem }, 'no relay is used: the API server is used instead');
  }
}
