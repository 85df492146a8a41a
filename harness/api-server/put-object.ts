import { type ApiClient, ApiError, type KubeObject } from './api.ts';

/** Creates an object of a collection, or replaces it. */
export async function putObject(
  api: ApiClient,
  collection: string,
  object: KubeObject,
): Promise<void> {
  try {
    await api.update(`${collection}/${object.metadata.name}`, object);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    await api.create(collection, object);
  }
}
