import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readTurns } from '../../../src/proxy/reflector/read-turns.ts';

/** A body that brings what the test sends. */
function createBody() {
  const source = new EventEmitter();
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  ended.catch(() => undefined);
  const body = {
    each: (onChunk: (chunk: Buffer) => void) => {
      source.on('chunk', onChunk);
      return ended;
    },
    destroy: () => reject(new Error('destroyed')),
  };
  const send = (...texts: readonly string[]): void => {
    for (const text of texts) source.emit('chunk', Buffer.from(text));
  };
  return { body, send, end: resolve, break: reject };
}

/** Reads a body, and records the chunks of each turn. */
function reading() {
  const sent = createBody();
  const turns: string[][] = [];
  const read = readTurns(sent.body, (chunks) => void turns.push(chunks.map(String)));
  return { ...sent, turns, read };
}

describe('a body that is read turn by turn', () => {
  test('hands over what has arrived in one turn together, once the turn ends', async () => {
    const { send, turns, end, read } = reading();
    send('a', 'b');
    expect(turns).toEqual([]);
    await nextTurn();
    send('c');
    await nextTurn();
    expect(turns).toEqual([['a', 'b'], ['c']]);
    end();
    await read;
  });

  test('hands over what arrived before it broke, and then throws the error', async () => {
    const { send, turns, break: fail, read } = reading();
    send('a');
    fail(new Error('reset'));
    await expect(read).rejects.toThrow('reset');
    expect(turns).toEqual([['a']]);
  });

  test('ends with what its reader throws, and hands over nothing after it', async () => {
    const { body, send } = createBody();
    const seen: string[] = [];
    const read = readTurns(body, (chunks) => {
      seen.push(...chunks.map(String));
      throw new Error('unusable');
    });
    send('a');
    const rejected = expect(read).rejects.toThrow('unusable');
    await nextTurn();
    send('b');
    await nextTurn();
    await rejected;
    expect(seen).toEqual(['a']);
  });

  test('hands over each chunk once and in order, wherever turns and the body end', async () => {
    const history = fc.array(fc.constantFrom('chunk', 'turn'), { maxLength: 20, size: 'max' });
    await fc.assert(
      fc.asyncProperty(history, fc.boolean(), async (steps, breaks) => {
        const { send, turns, end, break: fail, read } = reading();
        const all: string[] = [];
        for (const [index, step] of steps.entries()) {
          if (step === 'turn') await nextTurn();
          else {
            all.push(String(index));
            send(String(index));
          }
        }
        if (breaks) fail(new Error('reset'));
        else end();
        await read.catch(() => undefined);
        expect(turns.flat()).toEqual(all);
      }),
    );
  });
});
