import type { KubeObject } from '../../../embedded/kube-object.ts';

/** Name of the wrapper's node. */
export const SELF = 'here';

/** Names of the collections that are written. */
export type WrittenCollection = 'nodes' | 'services' | 'endpointslices';

/** What a history needs of an API server. */
export interface ClusterBackend {
  /** Where requests go now, such as `http://127.0.0.1:1234`. */
  readonly origin: string;
  /** For an https origin. */
  readonly ca?: string;
  /** For the wrapper. */
  readonly token: string;
  /** Creates or replaces. Waits while the API server is away. */
  put(collection: WrittenCollection, object: KubeObject): Promise<void>;
  delete(collection: WrittenCollection, name: string): Promise<void>;
  stop(): Promise<void>;
}
