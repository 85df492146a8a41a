import { CODECS } from '../../client/api/codecs.ts';
import type { ReflectorContext } from '../../client/reflector/reflector-options.ts';
import type { WrapperError } from '../../errors.ts';
import type { PartialObjectMetadata } from '../../filter/codec/codec.ts';
import type { Change } from '../../filter/objects/change.ts';
import { NODES } from '../../filter/objects/resource.ts';
import {
  consequenceOfRefusal,
  type NodeSet,
  type NodeSetWatcher,
} from '../../topology/state/node-set.ts';
import type { Clock } from '../../util/clock.ts';
import { LogShares } from '../../util/log-shares.ts';
import { type OpenCollection, openCollection } from './open-collection.ts';

/** Opens the reflectors of node sets, metadata only. Logs the sets that are refused or have no room. */
export class NodeSetReflectors implements NodeSetWatcher<OpenCollection> {
  readonly clock: Clock;
  readonly #context: ReflectorContext;
  /** A tenant can need a set again and again, so each set has its share. */
  readonly #log: LogShares;

  /** @param clock closes the node sets that are not needed */
  constructor(context: ReflectorContext, clock: Clock) {
    this.clock = clock;
    this.#context = context;
    this.#log = new LogShares(context.logger, clock);
  }

  open(set: NodeSet): OpenCollection {
    return openCollection<PartialObjectMetadata>(this.#context, {
      resource: NODES,
      labelSelector: set.selector,
      encoding: 'protobuf',
      decode: (object) => CODECS.protobuf.partialMetadata(object),
      handler: {
        onChanges: (changes) => changeMembers(set, changes),
        onSynced: () => set.sync(),
      },
      onRefused: (error) => {
        if (error === undefined) {
          set.accept();
          return;
        }
        this.#logRefusal(set, error);
        set.refuse(error.message);
      },
    });
  }

  onOverLimit(set: NodeSet): void {
    const { selector, refusal: err } = set;
    const text = `this node set is not watched: ${consequenceOfRefusal(set)}`;
    this.#log.of(selector).warn({ selector, err }, text);
  }

  /** Writes what waits for room in the log. */
  close(): void {
    this.#log.close();
  }

  #logRefusal(set: NodeSet, { code, message: err }: WrapperError): void {
    const why = code === 'Refused' ? 'the API server does not let us watch' : 'nothing is known of';
    const text = `${why} these nodes: ${consequenceOfRefusal(set)}`;
    this.#log.of(set.selector).write('error', { selector: set.selector, err }, text);
  }
}

function changeMembers(set: NodeSet, changes: readonly Change<PartialObjectMetadata>[]): void {
  const members = new Map<string, boolean>();
  for (const { type, key } of changes) members.set(key, type !== 'DELETED');
  const nodes = [...members.keys()];
  set.change(
    nodes.filter((node) => members.get(node)),
    nodes.filter((node) => !members.get(node)),
  );
}
