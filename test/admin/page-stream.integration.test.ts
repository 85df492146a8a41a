import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, test } from '@jest/globals';
import type { RowsEvent } from '../../src/admin/page/page-data.ts';
import { PageStream } from '../../src/admin/page/page-stream.ts';
import type { ServiceTable } from '../../src/admin/page/service-table.ts';
import { advancingClock } from '../support/advancing-clock.ts';

const clock = advancingClock({ runs: false });

/** A socket that is full after each write until it is drained. */
class SlowResponse extends EventEmitter {
  writableNeedDrain = false;
  destroyed = false;
  readonly rows: RowsEvent[] = [];
  readonly written: string[] = [];

  write(text: string): void {
    this.writableNeedDrain = true;
    this.written.push(text);
    const [, data] = /^event: rows\ndata: (.*)\n\n$/.exec(text) ?? [];
    if (data !== undefined) this.rows.push(JSON.parse(data) as RowsEvent);
  }

  drain(): void {
    this.writableNeedDrain = false;
    this.emit('drain');
  }

  destroy(): void {
    this.destroyed = true;
  }
}

function open(rows: Map<string, string>) {
  const response = new SlowResponse();
  const table: Pick<ServiceTable, 'row' | 'services' | 'dirtyCount' | 'view' | 'viewNumber'> = {
    row: (service) => rows.get(service),
    services: () => rows.keys(),
    dirtyCount: 0,
    view: undefined,
    viewNumber: 0,
  };
  const stream = new PageStream(response as unknown as ServerResponse, table as ServiceTable);
  return { response, stream };
}

test('a slow page receives each row once, as it is when the socket has room', () => {
  const rows = new Map(Array.from({ length: 2_500 }, (_, n) => [`s${n}`, `["s${n}",0]`]));
  const { response, stream } = open(rows);
  stream.flush('{}');
  response.drain();
  expect(response.rows.map(({ left }) => left)).toEqual([1_500]);
  for (let change = 1; change <= 100; change++) {
    rows.set('s0', `["s0",${change}]`);
    rows.set('s2000', `["s2000",${change}]`);
    stream.markDirty(['s0', 's2000']);
    stream.flush('{}');
  }
  rows.delete('s2001');
  for (let turn = 0; turn < 10; turn++) response.drain();
  expect(response.rows.map(({ left }) => left)).toEqual([1_500, 501, 0]);
  const all = response.rows.flatMap((event) => event.rows as unknown as [string, number][]);
  expect(all.filter(([name]) => name === 's2000')).toEqual([['s2000', 100]]);
  expect(all.filter(([name]) => name === 's0').at(-1)).toEqual(['s0', 100]);
  expect(response.rows.flatMap(({ gone }) => gone)).toEqual(['s2001']);
});

test('a page that reads nothing for 30 s is disconnected', () => {
  const { response, stream } = open(new Map([['a', '["a"]']]));
  stream.flush('{}');
  clock.advance(30_000);
  stream.flush('{}');
  expect(response.destroyed).toBe(false);
  clock.advance(1);
  stream.flush('{}');
  expect(response.destroyed).toBe(true);
});

// A comment line would keep the connection open too, but the page cannot see comments.
test('a heartbeat is sent after 15 s without another event', () => {
  const { response, stream } = open(new Map());
  const flush = (): void => {
    stream.flush('{}');
    for (let turn = 0; turn < 10; turn++) response.drain();
  };
  flush();
  response.written.length = 0;
  clock.advance(15_000);
  flush();
  expect(response.written).toEqual([]);
  clock.advance(1);
  flush();
  expect(response.written).toEqual(['event: heartbeat\ndata: {}\n\n']);
});
