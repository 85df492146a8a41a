import { createNamespace, createNode, labelNode } from '../api-server/cluster-objects.ts';
import type { ControlPlane } from '../api-server/control-plane.ts';
import { createPlacedService } from '../node/placed-service.ts';
import { startWrappedNode, type WrappedNodeOptions } from '../node/wrapped-node.ts';

export const NEAR = '10.244.1.5:8080';
export const FAR = '10.244.1.6:8080';

/**
 * A wrapped node of site a, and a Service that stays within a site: it has one endpoint on a node of site a and one on
 * a node of site b. A second Service without a policy has the same endpoints.
 */
export type SiteScene = Awaited<ReturnType<typeof startSiteScene>>;

export interface SiteSceneOptions {
  readonly plane: ControlPlane;
  /** Part of the names of all objects, so that several scenes fit in one cluster. */
  readonly id: string;
  readonly settings?: WrappedNodeOptions['settings'];
  /** True: the Services are headless. Default false. */
  readonly headless?: boolean;
}

export async function startSiteScene(options: SiteSceneOptions) {
  const { plane, id, settings, headless = false } = options;
  const { admin } = plane;
  const namespace = `ns-${id}`;
  const nodeName = `here-${id}`;
  await createNamespace(admin, namespace);
  await createNode(admin, `near-${id}`, { site: 'a' });
  await createNode(admin, `far-${id}`, { site: 'b' });
  const target = async (name: string, annotations: Record<string, string>) => {
    const spec = headless ? { clusterIP: 'None' } : {};
    const placed = await createPlacedService(admin, { name, namespace, annotations, spec }, [
      { at: NEAR, node: `near-${id}` },
      { at: FAR, node: `far-${id}` },
    ]);
    return placed.target;
  };
  const targets = {
    local: await target('local', { topologyKeys: '["site"]' }),
    plain: await target('plain', {}),
  };
  const node = await startWrappedNode({
    plane,
    nodeName,
    labels: { site: 'a' },
    ...(settings === undefined ? {} : { settings }),
  });
  return {
    node,
    namespace,
    /** `clusterIP:port` of the Service with the policy, and of the one without. */
    targets,
    /** Moves the node to another site; null: to none. */
    moveTo: async (site: string | null) => void (await labelNode(admin, nodeName, { site })),
    stop: async () => await node.stop(),
  };
}
