import { dump } from 'js-yaml';
import { API_SERVER } from './network.ts';
import type { Workspace } from './workspace.ts';

const SETTINGS = `  - name: kube-proxy-wrapper
    behavior: merge
    files: [config.yaml]
`;

/**
 * Writes my-cluster/, an overlay of the base for this cluster. Apply it with
 * `kubectl apply --server-side -k my-cluster`.
 *
 * @param components names of folders in manifests/components
 * @param settings of the wrapper; default: the settings of the base
 */
export function writeOverlay(
  workspace: Workspace,
  components: readonly string[] = [],
  settings?: object,
): void {
  const paths = components.map((name) => `../manifests/components/${name}`);
  workspace.write(
    'my-cluster/kustomization.yaml',
    `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: kube-system
resources: [../manifests/base]
components: [${paths.join(', ')}]
configMapGenerator:
  - name: kube-proxy-wrapper-api-server
    behavior: merge
    literals: [KUBERNETES_SERVICE_HOST=${API_SERVER.address}, KUBERNETES_SERVICE_PORT=${API_SERVER.port}]
${settings === undefined ? '' : SETTINGS}`,
  );
  if (settings !== undefined) workspace.write('my-cluster/config.yaml', dump(settings));
}
