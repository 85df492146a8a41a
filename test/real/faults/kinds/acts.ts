import { encodeErrorEvent, encodeStatus } from '../../../../fake-apiserver/wire.ts';
import type { ForeignAnswer } from '../../../support/http/foreign-answers.ts';
import type { ActiveFault } from '../active-fault.ts';
import type { Exchange, FaultFront, HttpFault } from '../fault-front.ts';
import type { FaultTarget } from '../fault-kind.ts';
import type { SeenRequest } from '../seen-request.ts';
import { encodingOf } from '../watch-frames.ts';

/** Which requests a fault is for. */
export type Scope = 'all' | 'lists' | 'watches' | 'slices';

const TAKES: Readonly<Record<Scope, (seen: SeenRequest) => boolean>> = {
  all: () => true,
  lists: ({ verb }) => verb === 'list' || verb === 'check',
  watches: ({ verb }) => verb === 'watch',
  slices: ({ collection }) => collection === 'endpointslices',
};

/** A Status that an API server answers with. */
export function statusOf(code: number, reason: string, retryAfterSeconds?: number) {
  return {
    metadata: {},
    status: 'Failure' as const,
    message: `a fault: ${code}`,
    reason,
    code,
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
  };
}

/** Ends the open watches with an ERROR event, as after a compaction, so that they list. */
export function expireWatches(
  front: FaultFront,
  takes: (seen: SeenRequest) => boolean = () => true,
  code = 410,
): number {
  let count = 0;
  for (const exchange of front.open) {
    if (!exchange.isWatching || !takes(exchange.seen)) continue;
    count += 1;
    exchange.response.write(errorEvent(exchange, code));
    exchange.response.end();
  }
  return count;
}

export function errorEvent({ seen }: Exchange, code: number): Buffer {
  const status = statusOf(code, code === 410 ? 'Expired' : 'InternalError');
  return encodeErrorEvent(status, encodingOf(seen.accept));
}

/** Ends the watches of a scope cleanly, so that they are asked for again. */
export function endWatches(front: FaultFront, takes: (seen: SeenRequest) => boolean): void {
  for (const exchange of front.open) {
    if (exchange.isWatching && takes(exchange.seen)) exchange.response.end();
  }
}

/** Makes the wrapper send what the fault is waiting for. */
function provoke(front: FaultFront, scope: Scope): void {
  if (scope === 'lists') expireWatches(front);
  else if (scope === 'slices') endWatches(front, TAKES.slices);
  else front.cut();
}

/** What happened once, and is over: `end` undoes nothing. */
export function happened(hits: number): ActiveFault {
  return { hits: () => hits, end: async () => {} };
}

/** A fault of the requests of a scope. */
export function http(
  { front }: FaultTarget,
  scope: Scope,
  fault: Omit<HttpFault, 'takes'>,
): ActiveFault {
  const active = front.beginHttp({ takes: TAKES[scope], ...fault });
  provoke(front, scope);
  return { hits: active.hits, end: async () => active.end() };
}

/** Answers with this, in place of the API server. */
export function answer(
  target: FaultTarget,
  scope: Scope,
  respond: (exchange: Exchange) => void,
): ActiveFault {
  return http(target, scope, { answer: respond });
}

/** Answers as something else in place of the API server. */
export function answerForeign({ response }: Exchange, answer: ForeignAnswer): void {
  // The judge reads them back, which HTTP/1.1 allows only for headers that were set one by one.
  for (const [name, value = ''] of Object.entries(answer.headers)) response.setHeader(name, value);
  response.writeHead(answer.statusCode);
  response.end(answer.body);
}

/** Answers with a Status in the encoding that the client wants. */
export function answerStatus(
  { seen, response }: Exchange,
  code: number,
  reason: string,
  retryAfterSeconds?: number,
): void {
  const encoding = encodingOf(seen.accept);
  const type = encoding === 'json' ? 'application/json' : 'application/vnd.kubernetes.protobuf';
  response.writeHead(code, {
    'content-type': type,
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  });
  response.end(encodeStatus(statusOf(code, reason, retryAfterSeconds), encoding));
}
