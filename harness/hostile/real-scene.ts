import {
  createNode,
  createService,
  createSlice,
  type SliceOptions,
} from '../api-server/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../api-server/control-plane.ts';
import { type HostWrapper, type HostWrapperOptions, startHostWrapper } from './host-wrapper.ts';

/** Name of the wrapper's Node. */
export const HERE = 'here';
/** The endpoint that the view of `web` shows on this node, and the one that it does not. */
export const NEAR = '10.244.1.5';
export const FAR = '10.244.1.6';
export const PORTS = [{ name: '', port: 8080, protocol: 'TCP' }];

/** A real etcd and API server, with wrappers beside them. */
export interface RealScene {
  readonly plane: ControlPlane;
  /** Starts a wrapper of node {@link HERE}; {@link RealScene.stop} ends it. */
  start(options?: Partial<HostWrapperOptions>): Promise<HostWrapper>;
  stop(): Promise<void>;
}

/** Nodes `here` and `near` in site a, `far` in site b, and the Service `web` that prefers the own site. */
export async function startRealScene(): Promise<RealScene> {
  const plane = await startControlPlane();
  const wrappers: HostWrapper[] = [];
  const scene: RealScene = {
    plane,
    start: async (options = {}) => {
      const kubeconfig = plane.kubeconfig('wrapper');
      const wrapper = await startHostWrapper({ kubeconfig, nodeName: HERE, ...options });
      wrappers.push(wrapper);
      return wrapper;
    },
    stop: async () => {
      for (const wrapper of wrappers) await wrapper.stop();
      await plane.stop();
    },
  };
  try {
    await fill(plane);
    return scene;
  } catch (error) {
    await scene.stop();
    throw error;
  }
}

async function fill({ admin }: ControlPlane): Promise<void> {
  await createNode(admin, HERE, { site: 'a' });
  await createNode(admin, 'near', { site: 'a' });
  await createNode(admin, 'far', { site: 'b' });
  await createService(admin, {
    name: 'web',
    annotations: { topologyKeys: '["site"]' },
    ports: [{ port: 80, targetPort: 8080 }],
  });
  await createSlice(admin, webSlice);
}

const webSlice: SliceOptions = {
  name: 'web-1',
  service: 'web',
  ports: PORTS,
  endpoints: [
    { addresses: [NEAR], nodeName: 'near', conditions: { ready: true } },
    { addresses: [FAR], nodeName: 'far', conditions: { ready: true } },
  ],
};
