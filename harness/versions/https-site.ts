import { writeServingFiles } from '../../test/support/http/certificates.ts';
import { type ControlPlane, startControlPlane } from '../api-server/control-plane.ts';
import { withCleanups } from '../with-cleanups.ts';
import { createCaller } from './caller.ts';
import { type SiteScene, startSiteScene } from './site-scene.ts';

const LISTEN = '127.0.0.1:10362';

/** A node whose wrapper listens on https, and a ServiceAccount for a client on it. */
export interface HttpsSite extends SiteScene {
  readonly plane: ControlPlane;
  /** The client's name at the API server. */
  readonly user: string;
  readonly token: string;
  /** What the client connects to: the wrapper, or for comparison the API server itself. */
  readonly servers: Readonly<Record<'wrapper' | 'API server', { url: string; caFile: string }>>;
  /** Writes a kubeconfig with the token and returns its path. */
  kubeconfig(server: 'wrapper' | 'API server'): string;
}

export async function startHttpsSite(
  id: string,
  options: { readonly headless?: boolean } = {},
): Promise<HttpsSite> {
  const { headless = false } = options;
  return await withCleanups(async (cleanups) => {
    const plane = await startControlPlane();
    cleanups.defer(() => plane.stop());
    const { caFile, certFile, keyFile } = await writeServingFiles(plane.folder);
    const settings = { https: { listen: LISTEN, certFile, keyFile }, headless };
    const scene = await startSiteScene({ plane, id, settings, headless });
    cleanups.defer(() => scene.stop());
    const { user, token } = await createCaller(plane.admin, scene.namespace, 'client');
    const servers = {
      wrapper: { url: `https://${LISTEN}`, caFile },
      'API server': {
        url: plane.serverAt(scene.node.netns.hostAddress),
        caFile: plane.caFile,
      },
    };
    return {
      ...scene,
      plane,
      user,
      token,
      servers,
      kubeconfig: (server) => {
        const { url, caFile } = servers[server];
        return plane.kubeconfig('nobody', { server: url, caFile, token });
      },
    };
  });
}
