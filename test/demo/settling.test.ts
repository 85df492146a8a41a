import { expect, test } from '@jest/globals';
import { Settling } from '../../demo/settling.ts';

test('events that belong together are drawn once, after the last one', async () => {
  let draws = 0;
  const settling = new Settling({ isBusy: () => false, draw: () => draws++ });
  settling.event();
  settling.event();
  await settling.settled();
  expect(draws).toBe(1);
  settling.event();
  await settling.settled();
  expect(draws).toBe(2);
});

test('nothing is drawn while the wrapper still reads nodes', async () => {
  let busy = 0;
  const drawn: number[] = [];
  const settling = new Settling({ isBusy: () => ++busy <= 3, draw: () => drawn.push(busy) });
  settling.event();
  await settling.settled();
  expect(drawn).toEqual([8]);
});

test('an event during the wait delays the draw', async () => {
  const turns: number[] = [];
  const settling: Settling = new Settling({
    isBusy: () => {
      if (turns.push(0) === 4) settling.event();
      return false;
    },
    draw: () => turns.push(1),
  });
  settling.event();
  await settling.settled();
  expect(turns.indexOf(1)).toBeGreaterThan(5);
});

test('nothing is drawn after close()', async () => {
  let draws = 0;
  const settling = new Settling({ isBusy: () => false, draw: () => draws++ });
  settling.event();
  const settled = settling.settled();
  settling.close();
  await settled;
  expect(draws).toBe(0);
});
