import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../support/random.ts';
import type { RelayFault } from '../support/relay-fault.ts';
import { answerFaults } from './answer-faults.ts';
import { diskFaults } from './disk-faults.ts';
import type { FaultKind } from './fault.ts';
import type { Side } from './fault-node.ts';
import type { FaultScene } from './fault-scene.ts';

const WHERE: Readonly<Record<Side, string>> = {
  clients: 'clients ⇄ wrapper',
  upstream: 'wrapper ⇄ API server',
  inUse: 'wrapper ⇄ API server in use',
};

/** All of them. Another one is another row. */
export const faultKinds: readonly FaultKind[] = [
  ...networkFaults('clients'),
  ...networkFaults('upstream'),
  ...networkFaults('inUse'),
  ...answerFaults(),
  corrupted('clients', () => ({ kind: 'corruptFraming' })),
  corrupted('upstream', (random) => ({ kind: 'corrupt', afterBytes: random.below(200) })),
  ...wrapperFaults(),
  ...diskFaults(),
  ...controlPlaneFaults(),
  ...kubeProxyFaults(),
];

function networkFaults(side: Side): FaultKind[] {
  const where = WHERE[side];
  const relayed = (name: string, weight: number, toFault: (random: Random) => RelayFault) => ({
    name: `${where}: ${name}`,
    weight,
    strike: async ({ node }: FaultScene, random: Random) => {
      await node.inject(side, toFault(random));
      return async () => {
        await node.inject(side, null);
        return await node.harmed(side);
      };
    },
  });
  return [
    {
      name: `${where}: connections cut`,
      weight: 10,
      strike: async ({ node }) => {
        const harmed = await node.cut(side);
        return async () => harmed;
      },
    },
    relayed('cut in mid-frame', 10, (random) => ({ kind: 'cut', afterBytes: random.below(300) })),
    relayed('truncated', 8, (random) => ({ kind: 'truncate', afterBytes: random.below(300) })),
    relayed('delayed', 5, (random) => ({ kind: 'delay', ms: 20 + random.below(400) })),
    relayed('accepted, and silence', 5, () => ({ kind: 'silence' })),
    relayed('refused', side === 'clients' ? 1 : 3, () => ({ kind: 'refuse' })),
    {
      name: `${where}: packets dropped`,
      weight: 5,
      strike: async ({ node }) => {
        await node.dropPackets(side);
        return async () => await node.passPackets();
      },
    },
  ];
}

function corrupted(side: Side, toFault: (random: Random) => RelayFault): FaultKind {
  const where = WHERE[side];
  return {
    name: `${where}: bytes corrupted`,
    weight: 6,
    strike: async ({ node }, random) => {
      await node.inject(side, toFault(random));
      // Only a new request begins with bytes in which damage can be noticed.
      if (side === 'clients') await node.cut(side);
      return async () => {
        await node.inject(side, null);
        return await node.harmed(side);
      };
    },
  };
}

/** A process that is ended, and started again. */
function ended(
  name: string,
  weight: number,
  end: (scene: FaultScene, random: Random) => Promise<void>,
  start: (scene: FaultScene) => Promise<void>,
): FaultKind {
  return {
    name,
    weight,
    strike: async (scene, random) => {
      await end(scene, random);
      return async () => {
        await start(scene);
        return 1;
      };
    },
  };
}

/** A process that is frozen for seconds. */
function frozen(
  name: string,
  weight: number,
  signal: (scene: FaultScene, signal: 'SIGSTOP' | 'SIGCONT') => void,
): FaultKind {
  return {
    name: `${name} frozen`,
    weight,
    strike: async (scene, random) => {
      signal(scene, 'SIGSTOP');
      await sleep(500 + random.below(2_000));
      return async () => {
        signal(scene, 'SIGCONT');
        return 1;
      };
    },
  };
}

function wrapperFaults(): FaultKind[] {
  const start = async ({ node }: FaultScene) => await node.startWrapper();
  return [
    ended('wrapper SIGKILL', 4, async ({ node }) => await node.stopWrapper('SIGKILL'), start),
    ended('wrapper SIGTERM', 4, async ({ node }) => await node.stopWrapper('SIGTERM'), start),
    {
      name: 'planned restart',
      weight: 6,
      strike: async ({ node }) => {
        const replaced = node.replaceWrapper();
        replaced.catch(() => {});
        return async () => {
          await replaced;
          return 1;
        };
      },
    },
    {
      name: 'planned restart while the API server is out of reach',
      weight: 2,
      strike: async ({ node }) => {
        await node.inject('upstream', { kind: 'refuse' });
        const replaced = node.replaceWrapper();
        replaced.catch(() => {});
        return async () => {
          await node.inject('upstream', null);
          await replaced;
          return await node.harmed('upstream');
        };
      },
    },
    {
      name: 'wrapper started while the API server is out of reach',
      weight: 3,
      strike: async ({ node }) => {
        await node.inject('upstream', { kind: 'refuse' });
        await node.stopWrapper('SIGKILL');
        await node.startWrapper();
        // Long enough for the last known state to be served.
        await sleep(2_500);
        return async () => {
          await node.inject('upstream', null);
          return await node.harmed('upstream');
        };
      },
    },
    frozen('wrapper', 4, ({ node }, signal) => void node.wrapper().child.kill(signal)),
  ];
}

function controlPlaneFaults(): FaultKind[] {
  const startApiServer = async ({ plane }: FaultScene) => await plane.startApiServer();
  const startEtcd = async ({ plane }: FaultScene) => await plane.etcd.start();
  return [
    ended(
      ...(['kube-apiserver SIGKILL', 1] as const),
      async ({ plane }) => await plane.stopApiServer('SIGKILL'),
      startApiServer,
    ),
    ended(
      ...(['kube-apiserver SIGTERM', 1] as const),
      async ({ plane }) => await plane.stopApiServer('SIGTERM'),
      startApiServer,
    ),
    ended('etcd SIGKILL', 2, async ({ plane }) => await plane.etcd.stop('SIGKILL'), startEtcd),
    frozen('kube-apiserver', 3, ({ plane }, signal) =>
      signal === 'SIGSTOP' ? plane.pauseApiServer() : plane.resumeApiServer(),
    ),
    frozen('etcd', 2, ({ plane }, signal) => plane.etcd.signal(signal)),
  ];
}

function kubeProxyFaults(): FaultKind[] {
  const restart = (signal: 'SIGKILL' | 'SIGTERM', weight: number): FaultKind => ({
    name: `kube-proxy ${signal}`,
    weight,
    strike: async ({ kubeProxies }, random) => {
      const kubeProxy = random.pick(kubeProxies);
      await kubeProxy.stop(signal);
      return async () => {
        await kubeProxy.start();
        return 1;
      };
    },
  });
  return [
    restart('SIGKILL', 3),
    restart('SIGTERM', 1),
    frozen('kube-proxies', 2, ({ kubeProxies }, signal) => {
      for (const kubeProxy of kubeProxies) kubeProxy.signal(signal);
    }),
  ];
}
