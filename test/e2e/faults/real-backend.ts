import { cpSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { persist } from '../support/persist.ts';
import { putObject } from '../support/put-object.ts';
import type { ClusterBackend, WrittenCollection } from './cluster-backend.ts';

/** A real etcd and kube-apiserver, with what only they can do. */
export interface RealBackend extends ClusterBackend {
  readonly plane: ControlPlane;
  /** Copies etcd's data of now. */
  backUp(): void;
  /** Stops both; with `restore` the data are those of the copy. {@link start} starts them again. */
  stopServers(signal: NodeJS.Signals): Promise<void>;
  start(restore: boolean): Promise<void>;
  /** Resolves when the API server listens, which is before it is ready. */
  listens(): Promise<void>;
}

const PATHS: Readonly<Record<WrittenCollection, string>> = {
  nodes: '/api/v1/nodes',
  services: '/api/v1/namespaces/default/services',
  endpointslices: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
};

export async function startRealBackend(): Promise<RealBackend> {
  return describeRealBackend(await startControlPlane());
}

export function describeRealBackend(plane: ControlPlane): RealBackend {
  const { admin } = plane;
  const data = join(plane.folder, 'etcd');
  const copy = join(plane.folder, 'etcd-copy');
  return {
    plane,
    origin: plane.server,
    token: plane.tokens.wrapper,
    ca: readFileSync(plane.caFile, 'utf8'),
    put: async (collection, object) =>
      await persist(async () => await putObject(admin, PATHS[collection], object)),
    delete: async (collection, name) =>
      await persist(async () => await admin.delete(`${PATHS[collection]}/${name}`)),
    backUp: () => {
      // As after a power cut: etcd can begin from such a copy.
      plane.etcd.signal('SIGSTOP');
      rmSync(copy, { recursive: true, force: true });
      cpSync(data, copy, { recursive: true });
      plane.etcd.signal('SIGCONT');
    },
    stopServers: async (signal) => {
      await plane.apiServer.stop(signal);
      await plane.etcd.stop('SIGKILL');
    },
    start: async (restore) => {
      if (restore) {
        rmSync(data, { recursive: true, force: true });
        cpSync(copy, data, { recursive: true });
      }
      await plane.etcd.start();
      await plane.apiServer.start();
    },
    listens: async () => await waitUntilListening(Number(new URL(plane.server).port)),
    stop: async () => await plane.stop(),
  };
}

async function waitUntilListening(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isUp = await new Promise<boolean>((done) => {
      socket.once('connect', () => done(true));
      socket.once('error', () => done(false));
    });
    socket.destroy();
    if (isUp) return;
    await sleep(50);
  }
}
