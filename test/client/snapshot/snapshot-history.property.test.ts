import { expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { STREAMING_LIST } from '../../../harness/streaming-list.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { recordWatch, type WatchRecorder } from '../../support/guarantees/watch-recorder.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { createSmallCluster, putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { PATHS, shownBy, useState } from '../../support/wrapper/state-fixture.ts';
import { startWrapper } from '../../support/wrapper/wrapper-fixture.ts';

jest.setTimeout(240_000);

type Step =
  | { readonly kind: 'put'; readonly slice: number; readonly host: number }
  | { readonly kind: 'delete'; readonly slice: number }
  | { readonly kind: 'outage' | 'back' | 'restart' | 'compact' };

const change: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), slice: fc.nat(2), host: fc.nat(9) }),
  fc.record({ kind: fc.constant('delete' as const), slice: fc.nat(2) }),
);
const event: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('outage', 'back', 'restart', 'compact'),
});
const anything = (maxLength: number) =>
  fc.array(fc.oneof({ weight: 3, arbitrary: change }, { weight: 1, arbitrary: event }), {
    maxLength,
  });

/** Any history, but always one with a start while the API server is unreachable, and changes meanwhile. */
const history: fc.Arbitrary<Step[]> = fc
  .tuple(anything(6), fc.array(change, { minLength: 1, maxLength: 4 }), anything(4))
  .map(([before, meanwhile, after]) => [
    { kind: 'put', slice: 0, host: 1 },
    { kind: 'put', slice: 1, host: 1 },
    ...before,
    { kind: 'outage' },
    { kind: 'restart' },
    ...meanwhile,
    { kind: 'back' },
    ...after,
    { kind: 'back' },
  ]);

/** The slices as `name: addresses`, from a LIST's bytes or a store's objects. */
function readable(shown: ReadonlyMap<string, string | Buffer>): string[] {
  const addressed = ([name, bytes]: [string, string | Buffer]) =>
    `${name}: ${bytes
      .toString('latin1')
      .match(/10\.0\.[0-9]+\.[0-9]+/g)
      ?.join()}`;
  return [...shown].map(addressed).sort();
}

class Scene {
  readonly server = createSmallCluster();
  readonly #state = useState();
  #url = '';
  #up = true;
  /** What the wrapper has shown last; the API server may have changed since. */
  #known: string[] = [];
  proxy: NodeProxy | undefined;
  watch: WatchRecorder | undefined;

  async begin(): Promise<void> {
    putService(this.server, 'web', ['site']);
    this.#url = await this.server.listen();
    await this.#start();
  }

  async play(step: Step): Promise<void> {
    const name = 'slice' in step ? `web-${step.slice}` : '';
    if (step.kind === 'put') {
      putSlice(this.server, name, 'web', [
        { ip: `10.0.${step.slice}.${step.host}`, node: 'edge-2' },
      ]);
    } else if (step.kind === 'delete') {
      if (this.server.get('endpointslices', name)) this.server.delete('endpointslices', name);
    } else if (step.kind === 'compact') {
      this.server.compact();
    } else if (step.kind === 'restart') {
      await this.#stop();
      await this.#start();
    } else if (this.#up === (step.kind === 'outage')) {
      this.#up = !this.#up;
      if (this.#up) await this.server.listen(Number(new URL(this.#url).port));
      else await this.server.close();
    }
    await this.check();
  }

  /** With the API server its state is shown. Without it the last state is shown, also by a new process. */
  async check(): Promise<void> {
    const { proxy } = this;
    if (proxy === undefined) throw new Error('not running');
    if (this.#up) {
      this.#known = this.server
        .list('endpointslices')
        .map(
          ({ metadata, ...rest }) =>
            `${metadata.name}: ${JSON.stringify(rest)
              .match(/10\.0\.[0-9]+\.[0-9]+/g)
              ?.join()}`,
        )
        .sort();
    }
    const shown = async () => readable(await shownBy(proxy, PATHS.slices));
    await eventually(shown, this.#known);
    await eventually(() => readable(this.watch?.store() ?? new Map()), this.#known);
  }

  async end(): Promise<void> {
    await this.#stop();
    await this.server.close();
  }

  async #start(): Promise<void> {
    this.proxy = await startWrapper(this.#url, { state: this.#state, readyWaitMs: 5000 });
    this.watch = await recordWatch(this.proxy.url + PATHS.slices, STREAMING_LIST);
  }

  async #stop(): Promise<void> {
    this.watch?.close();
    await this.proxy?.close();
  }
}

test('through outages, restarts and compaction a client has the last known state, and then the live one', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const scene = new Scene();
      try {
        await scene.begin();
        await scene.check();
        for (const each of steps) await scene.play(each);
      } finally {
        await scene.end();
      }
    }),
    { numRuns: propertyRuns(20) },
  );
  expect.hasAssertions();
});
