import { FOREIGN_ANSWERS } from '../../../support/http/foreign-answers.ts';
import type { FaultKind } from '../fault-kind.ts';
import { answer, answerForeign, answerStatus, type Scope } from './acts.ts';

type Status = readonly [code: number, reason: string, retryAfterSeconds?: number];

const STATUSES: Readonly<Record<string, Status>> = {
  '401': [401, 'Unauthorized'],
  '403': [403, 'Forbidden'],
  '404': [404, 'NotFound'],
  '408': [408, 'Timeout'],
  '429': [429, 'TooManyRequests'],
  '429 with Retry-After': [429, 'TooManyRequests', 2],
  '500': [500, 'InternalError'],
  '503': [503, 'ServiceUnavailable'],
  '503 with Retry-After': [503, 'ServiceUnavailable', 2],
  '504': [504, 'Timeout'],
};
const WHERE: Readonly<Record<Scope, string>> = {
  all: 'to everything',
  lists: 'to lists',
  watches: 'to watches',
  slices: 'to what reads slices',
};
const UNREACHABLE = ['429', '500', '503', '504'];

/** Complete answers of an API server, or of a proxy in front of it, that does not serve. */
export const statusFaults: readonly FaultKind[] = [
  ...Object.entries(STATUSES).flatMap(([name, [code, reason, retryAfter]]) =>
    (Object.keys(WHERE) as Scope[]).map(
      (scope): FaultKind => ({
        room: 'status',
        name: `${name} ${WHERE[scope]}`,
        ...(scope === 'all' && UNREACHABLE.includes(name) ? { unreachable: 'failing' } : {}),
        strike: (target) =>
          answer(target, scope, (exchange) => answerStatus(exchange, code, reason, retryAfter)),
      }),
    ),
  ),
  {
    room: 'status',
    name: '410 to watches',
    strike: (target) => answer(target, 'watches', (each) => answerStatus(each, 410, 'Expired')),
  },
  {
    room: 'status',
    name: '504 too large a version to everything',
    unreachable: 'failing',
    strike: (target) => answer(target, 'all', (each) => answerStatus(each, 504, 'Timeout', 1)),
  },
  ...Object.entries(FOREIGN_ANSWERS).flatMap(([name, foreign]) =>
    (['all', 'lists', 'watches'] as const).map(
      (scope): FaultKind => ({
        room: 'status',
        name: `not of an API server: ${name} ${WHERE[scope]}`,
        ...(scope === 'all' ? { unreachable: 'failing' } : {}),
        strike: (target) => answer(target, scope, (exchange) => answerForeign(exchange, foreign)),
      }),
    ),
  ),
];
