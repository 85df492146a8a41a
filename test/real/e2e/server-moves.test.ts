import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, jest, test } from '@jest/globals';
import { poll } from '../../../harness/poll.ts';
import { chooseSeed, createRandom } from '../../../harness/random.ts';
import { stoppedLater } from '../../support/closed-later.ts';
import { type NodeStage, startNodeStage } from '../faults/node/node-stage.ts';

/*
 * kube-proxy exits with code 1 since 1.37 when its Node seems to be deleted, or to have other addresses. Two relays and
 * two API servers on one etcd are before its wrapper. Nothing starts these kube-proxies again.
 */
jest.setTimeout(600_000);

const seed = chooseSeed();
let stage: NodeStage;

beforeAll(async () => {
  process.stderr.write(`random history of KPW_SEED=${seed}\n`);
  const random = createRandom(seed);
  stage = stoppedLater(await startNodeStage({ random, relays: 2, another: true }));
  await stage.settleKernels();
});

test('no kube-proxy ends when its wrapper moves between relays and API servers, and each follows the next label', async () => {
  const { plane, preferred, netns, node, wrapper, kubeProxies } = stage;
  const inUse = await wrapper.server();
  const first = node.relays.find(({ address }) => address === inUse);
  const second = node.relays.find(({ address }) => address !== inUse);
  if (first === undefined || second === undefined || preferred === undefined) {
    throw new Error('there are not two of each');
  }
  const host = ({ port }: { readonly port: number }) => `${netns.hostAddress}:${port}`;
  const [one, other] = [first.address, second.address];
  const moves: readonly (readonly [name: string, move: () => unknown, to?: string])[] = [
    ['nothing', () => {}, one],
    ['the relay in use is killed', () => first.stop('SIGKILL'), other],
    ['the last relay is killed', () => second.stop('SIGKILL'), host(preferred)],
    ['the API server in use is killed', () => preferred.stop('SIGKILL'), host(plane.apiServer)],
    [
      'both are back, and the relay is used again',
      async () => {
        await preferred.start();
        first.start();
      },
      one,
    ],
    ['the relay in use ends', () => first.stop('SIGTERM'), host(preferred)],
    ['nothing for a while', () => sleep(2_000), host(preferred)],
  ];
  for (const [name, move, to] of moves) {
    await move();
    await poll(
      () => wrapper.server(),
      (server) => server === to,
      { timeoutMs: 60_000, what: `${name}: the wrapper uses ${to}` },
    );
    const ms = await stage.probe();
    process.stderr.write(`${name}: a label is in the kernels after ${Math.round(ms)} ms\n`);
    const endings = kubeProxies.map((kubeProxy) => kubeProxy.ending());
    expect([name, ...endings]).toEqual([name, undefined, undefined]);
  }
});
