import { expect, test } from '@jest/globals';
import type { Change } from '../../../src/filter/codec/change.ts';
import type { StoredState } from '../../../src/proxy/snapshot/snapshot-format.ts';
import {
  type SnapshotAccess,
  SnapshotWriter,
} from '../../../src/proxy/snapshot/snapshot-writer.ts';
import { until } from '../../support/http/until.ts';

test.each([
  ['succeeds', 1],
  ['fails', new Error('EIO')],
] as const)(
  'a writer that was closed while the disk hung writes nothing more when the disk %s',
  async (_, ending) => {
    const saved: StoredState[] = [];
    let end = (): void => {};
    const store: SnapshotAccess = {
      load: async () => undefined,
      loadNewest: async () => undefined,
      distrust: async () => {},
      save: async (_query, state) => {
        saved.push(state);
        await new Promise<void>((resolve) => {
          end = resolve;
        });
        if (ending instanceof Error) throw ending;
        return ending;
      },
    };
    let late: Error | undefined;
    const writer = new SnapshotWriter({
      query: 'protobuf /api/v1/services',
      store,
      times: { quietMs: 0, unrestMs: 0, retryMs: 0, writeBytesPerSecond: 1e12, closeMs: 20 },
      notBefore: 0,
      isEnding: () => true,
      onClosed: (_notBefore, error) => {
        late = error;
      },
    });
    writer.update([added('web')], '7');
    await until(() => saved.length === 1, 'the first write');
    writer.update([added('db')], '8');
    await writer.close();
    expect(late?.message).toContain('took more than');
    end();
    await new Promise(setImmediate);
    expect(saved.map(({ resourceVersion, objects }) => [resourceVersion, objects.length])).toEqual([
      ['7', 1],
    ]);
  },
);

function added(key: string): Change {
  const facts = { name: key, namespace: '', uid: key, resourceVersion: '1' };
  return { type: 'ADDED', key, facts, object: Buffer.from(key) };
}
