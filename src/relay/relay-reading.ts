import { readClients } from '../diagnosis/reading/clients.ts';
import { readViews } from '../diagnosis/reading/collections.ts';
import { dataAge, silenceOf } from '../diagnosis/reading/data-age.ts';
import { readUpstream, type ServingReading } from '../diagnosis/reading/node-reading.ts';
import type { CallerLimits } from '../server/http/caller-limits.ts';
import type { Relay } from './relay.ts';

/** What a running relay is now, in plain values. */
export interface RelayReading extends ServingReading {
  /** Why it is not ready; undefined: it is. */
  readonly problem: string | undefined;
  /** For how long the API server has sent nothing, in milliseconds. */
  readonly silentMs: number;
  /** Tokens that read now: each wrapper has one. */
  readonly callers: number;
  /** Reads refused since the start, by the limit. */
  readonly readsRefused: Refused;
  /** The lists that are being sent. */
  readonly lists: {
    readonly number: number;
    /** Their bytes, as they count for the limits. */
    readonly bytes: number;
    /** Lists refused since the start, by the limit. */
    readonly refused: Refused;
  };
}

type Refused = Readonly<CallerLimits['refused']>;

const NONE: Refused = { listener: 0, caller: 0 };

export function readRelay(relay: Pick<Relay, 'upstream' | 'views' | 'listeners'>): RelayReading {
  const { upstream, listeners } = relay;
  const { reads, bodies } = listeners;
  const views = readViews(relay.views, '');
  return {
    problem: relayProblem(relay),
    views,
    data: dataAge({ views, nodeSets: [], sources: [] }, upstream),
    silentMs: silenceOf(upstream),
    upstream: readUpstream(upstream),
    clients: readClients(listeners),
    budgetRefusals: { ...relay.views.budget.refusals },
    callers: reads?.tokens ?? 0,
    readsRefused: { ...(reads?.refused ?? NONE) },
    lists: {
      number: bodies?.requests ?? 0,
      bytes: bodies?.active ?? 0,
      refused: { ...(bodies?.refused ?? NONE) },
    },
  };
}

/** Why a relay is not ready; undefined: it is. */
export function relayProblem({
  views,
  listeners,
}: Pick<Relay, 'views' | 'listeners'>): string | undefined {
  const certificate = listeners.certificate?.problem(Date.now());
  return views.problem ?? (certificate && `https-certificate: ${certificate}`);
}
