import type { Listeners } from '../../server/serving/listeners.ts';

/** A number of requests or connections of a listener, by a word such as a status code or a reason. */
type ListenerCount = readonly [count: number, listener: string, word: string];

/** A listener for clients. */
export interface ListenerReading {
  /** Name of the setting with its address. */
  readonly name: string;
  /** Open connections. */
  readonly connections: number;
  /** Connections and requests refused since the start, because there were too many. */
  readonly refused: number;
  /** Bytes sent since the start. */
  readonly sentBytes: number;
  /** Watches and lists ended since the start, because their client read nothing. */
  readonly stalled: number;
}

/** The clients of this process, the admin listener included where listeners are named. */
export interface ClientsReading {
  readonly listeners: readonly ListenerReading[];
  /** Open watches. */
  readonly watches: number;
  /** Requests since the start by status code. */
  readonly requests: readonly ListenerCount[];
  /** Refused requests and connections since the start by reason. */
  readonly refusals: readonly ListenerCount[];
  /** Undefined: there is no https listener, as for the next two. */
  readonly certificate: CertificateReading | undefined;
  readonly reviews: ReviewsReading | undefined;
  readonly forwarding: ForwardingReading | undefined;
}

interface CertificateReading {
  /** When it becomes valid, and when it expires. */
  readonly valid: { readonly from: Date; readonly to: Date };
  /** New files that could not be used since the start. */
  readonly failures: number;
}

/** Reviews of callers since the start: sent, and old decisions used because the API server was unreachable. */
type ReviewsReading = NonNullable<Listeners['reviews']>['counts'];

interface ForwardingReading {
  /** Requests that are being forwarded. */
  readonly active: number;
  /** Requests not forwarded since the start, by the limit. */
  readonly refused: NonNullable<Listeners['forwarding']>['refused'];
}

export function readClients(from: Listeners): ClientsReading {
  const { handlers, watches, certificate, reviews, forwarding } = from;
  return {
    listeners: handlers.map(({ name, stalled, listener }) => {
      const { connections, refused, sentBytes } = listener;
      return { name, connections, refused, sentBytes, stalled };
    }),
    watches,
    requests: [...from.requests.counts],
    refusals: [...from.refusals.counter.counts],
    certificate: certificate && { valid: certificate.valid, failures: certificate.failures },
    reviews: reviews && { ...reviews.counts },
    forwarding: forwarding && { active: forwarding.active, refused: { ...forwarding.refused } },
  };
}
