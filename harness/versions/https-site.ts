import { startControlPlane } from '../api-server/control-plane.ts';
import { writeServingFiles } from '../certificates.ts';
import { createAccount, rightsOf } from '../deploy/account.ts';
import { withCleanups } from '../with-cleanups.ts';
import { startSiteScene } from './site-scene.ts';

const LISTEN = '127.0.0.1:10362';

/** What a client connects to: the wrapper, or for comparison the API server itself. */
export type HttpsServer = 'wrapper' | 'API server';

/** A node whose wrapper listens on https, and a ServiceAccount that may read what clients of Services read. */
export type HttpsSite = Awaited<ReturnType<typeof startHttpsSite>>;

export async function startHttpsSite(id: string, options: { readonly headless?: boolean } = {}) {
  const { headless = false } = options;
  return await withCleanups(async (cleanups) => {
    const plane = await startControlPlane();
    cleanups.defer(() => plane.stop());
    const { caFile, certFile, keyFile } = await writeServingFiles(plane.folder);
    const settings = { https: { listen: LISTEN, certFile, keyFile }, headless };
    const scene = await startSiteScene({ plane, id, settings, headless });
    cleanups.defer(() => scene.stop());
    const verbs = ['get', 'list', 'watch'];
    const rights = rightsOf([
      { apiGroups: [''], resources: ['services', 'nodes', 'namespaces', 'secrets'], verbs },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs },
      { apiGroups: ['networking.k8s.io'], resources: ['ingresses', 'ingressclasses'], verbs },
    ]);
    const token = await createAccount(plane.admin, 'client', rights, scene.namespace);
    const user = `system:serviceaccount:${scene.namespace}:client`;
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
      /** The client's name at the API server. */
      user,
      token,
      servers,
      /** Writes a kubeconfig with the token and returns its path. */
      kubeconfig: (server: HttpsServer) => {
        const { url, caFile } = servers[server];
        return plane.kubeconfig('nobody', { server: url, caFile, token });
      },
    };
  });
}
