import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ConnectionTable } from '../../../src/server/http/connection-table.ts';

/** What a client of the model has done on a connection. */
interface Client {
  kind: string;
  busy: boolean;
  received: boolean;
  answered: boolean;
}

const LIMITS = { maxRequests: 3, spare: 2, maxWithoutRequest: 4, maxOfKind: { other: 2 } };

type Step = readonly [action: string, which: number];

const step = fc.tuple(
  fc.constantFrom(
    ...[
      'connect',
      'connect',
      'probe',
      'probe',
      'other',
      'receive',
      'receive',
      'answer',
      'end',
      'close',
    ],
  ),
  fc.nat(30),
);

/** Applies the steps to a table; returns the final model. */
function play(steps: readonly Step[]) {
  const clients = new Map<number, Client>();
  const evicted: Client[] = [];
  const table = new ConnectionTable<number>(LIMITS, (id) => {
    evicted.push(clients.get(id) as Client);
    clients.delete(id);
  });
  let next = 0;
  for (const [action, which] of steps) {
    if (action === 'connect') {
      table.add(next);
      clients.set(next++, { kind: '', busy: false, received: false, answered: false });
    } else {
      const ids = [...clients.keys()];
      const id = ids[which % ids.length];
      if (id !== undefined) act(table, clients, action, id);
    }
    check(table, clients, evicted);
  }
  return { table, clients };
}

function act(
  table: ConnectionTable<number>,
  clients: Map<number, Client>,
  action: string,
  id: number,
): void {
  const client = clients.get(id) as Client;
  if (action === 'probe' || action === 'other') {
    if (client.busy) return;
    Object.assign(client, { kind: action, received: false, answered: false });
    const rivals = [...clients.values()].filter(({ busy }) => busy);
    const isFull =
      rivals.filter(inProgress).length === LIMITS.maxRequests ||
      (action === 'other' &&
        rivals.filter((each) => each.kind === 'other' && inProgress(each)).length === 2);
    client.busy = table.begin(id, {
      kind: action,
      isReceived: () => client.received,
      isAnswered: () => client.answered,
    });
    // A request is refused only if all others are in progress.
    if (client.busy === isFull) expect(client).toBe(isFull ? 'refused' : 'taken');
  } else if (action === 'receive') {
    client.received ||= client.busy;
  } else if (action === 'answer') {
    client.answered ||= client.busy;
  } else if (action === 'end') {
    client.busy = false;
    table.end(id);
  } else {
    clients.delete(id);
    table.delete(id);
  }
}

function inProgress({ busy, received, answered }: Client): boolean {
  return busy && received && !answered;
}

function check(
  table: ConnectionTable<number>,
  clients: ReadonlyMap<number, Client>,
  evicted: readonly Client[],
): void {
  const all = [...clients.values()];
  const busy = all.filter((each) => each.busy);
  const holds =
    table.size === clients.size &&
    table.requests === busy.length &&
    table.size <= LIMITS.maxRequests + LIMITS.spare &&
    busy.length <= LIMITS.maxRequests &&
    all.length - busy.length <= LIMITS.maxWithoutRequest &&
    busy.filter(({ kind }) => kind === 'other').length <= LIMITS.maxOfKind.other &&
    !evicted.some(inProgress);
  // Jest's own comparison would take most of the time.
  if (!holds) expect({ size: table.size, requests: table.requests, all, evicted }).toBe('bounded');
}

test('in any order of events, connections are bounded and a request in progress is never evicted', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 120, size: 'max' }), (steps) => {
      const { table, clients } = play(steps);
      for (const id of clients.keys()) table.delete(id);
      expect([table.size, table.requests]).toEqual([0, 0]);
    }),
    { numRuns: 300 },
  );
});

const state = (received: boolean, answered: boolean, kind = '') => ({
  kind,
  isReceived: () => received,
  isAnswered: () => answered,
});

test('the least useful connection is evicted first: idle, incomplete, answered; the oldest of each', () => {
  const evicted: string[] = [];
  const limits = { maxRequests: 5, spare: 2 };
  const table = new ConnectionTable<string>(limits, (name) => evicted.push(name));
  for (const name of [
    'idle-late',
    'idle',
    'silent',
    'trickling',
    'unread',
    'serving',
    'silent-2',
  ]) {
    table.add(name);
  }
  for (const name of ['idle', 'idle-late']) {
    expect(table.begin(name, state(true, true))).toBe(true);
    table.end(name);
  }
  table.begin('trickling', state(false, false));
  table.begin('unread', state(true, true));
  table.begin('serving', state(true, false));
  for (const name of ['n1', 'n2', 'n3', 'n4', 'n5', 'n6']) table.add(name);
  // Finally the new connections themselves, because they have sent nothing.
  expect(evicted).toEqual(['idle', 'idle-late', 'silent', 'trickling', 'silent-2', 'n1']);
  for (const name of ['n2', 'n3', 'n4']) table.begin(name, state(true, false));
  expect(evicted).toHaveLength(6);
  for (const name of ['n5', 'n6']) table.begin(name, state(true, false));
  expect(evicted.slice(6)).toEqual(['unread']);
});

test('beyond the limit of connections without a request, an idle one is evicted, then a silent one', () => {
  const evicted: string[] = [];
  const limits = { maxRequests: 5, spare: 5, maxWithoutRequest: 2 };
  const table = new ConnectionTable<string>(limits, (name) => evicted.push(name));
  for (const name of ['serving', 'trickling', 'idle']) {
    table.add(name);
    table.begin(name, state(name !== 'trickling', false));
  }
  table.end('idle');
  for (const name of ['n1', 'n2', 'n3']) table.add(name);
  expect(evicted).toEqual(['idle', 'n1']);
  // A connection that becomes idle is the newest of them.
  table.end('serving');
  expect(evicted).toEqual(['idle', 'n1', 'n2']);
  table.add('n4');
  expect(evicted).toEqual(['idle', 'n1', 'n2', 'serving']);
});
