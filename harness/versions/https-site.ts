import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeServingFiles } from '../../test/support/http/certificates.ts';
import { type ControlPlane, startControlPlane } from '../api-server/control-plane.ts';
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
  const plane = await startControlPlane();
  const folder = await mkdtemp(join(tmpdir(), 'kpw-versions-'));
  const stop = async () => {
    await plane.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const { caFile, certFile, keyFile } = await writeServingFiles(folder);
    const settings = { https: { listen: LISTEN, certFile, keyFile }, headless };
    const scene = await startSiteScene({ plane, id, settings, headless });
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
      stop: async () => {
        await scene.stop();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
