import type { KubeClient } from '../client/kube-client.ts';
import { listPods } from './list-pods.ts';

/** Where kubeadm and manifests/second-kube-proxy run kube-proxy, and the labels of its Pods. */
const NAMESPACE = 'kube-system';
const SELECTOR = 'k8s-app in (kube-proxy,kube-proxy-via-wrapper)';
/** ConfigMaps with a kubeconfig that leads to the wrapper: that of plain http, and `…-https`. */
const CONFIG_MAP = 'kube-proxy-via-wrapper';

/** The part of a Pod that is read here. */
interface KubeProxyPod {
  readonly spec?: {
    readonly nodeName?: string;
    readonly volumes?: readonly {
      readonly projected?: {
        readonly sources?: readonly { readonly configMap?: { readonly name?: string } }[];
      };
    }[];
  };
}

/**
 * The nodes whose kube-proxy is pointed at the wrapper as docs/deployment.md says: without a wrapper they get no rules.
 * Throws `Refused` without the right to list Pods.
 */
export async function nodesPointedAtWrapper(client: KubeClient): Promise<ReadonlySet<string>> {
  const pods = await listPods<KubeProxyPod>(client, { namespace: NAMESPACE, selector: SELECTOR });
  const pointed = pods.filter(({ spec }) =>
    spec?.volumes?.some(({ projected }) =>
      projected?.sources?.some(({ configMap }) => configMap?.name?.startsWith(CONFIG_MAP)),
    ),
  );
  return new Set(pointed.flatMap(({ spec }) => spec?.nodeName ?? []));
}
