import { sendRequest } from '../recorder/exchange.ts';

/** A bug that is added between a server and a client. */
export interface PlantedBug {
  /** Replaces each line of a watch. Called once per watch. */
  readonly lines?: () => (line: string) => readonly string[];
  /** Replaces the body of a LIST. */
  readonly list?: (body: string) => string;
  /** Replaces the version from which a client watches. */
  readonly version?: (requested: string) => Promise<string>;
}

/** Sends requests of a client to a server that seems to have the bug. */
export function plant({ lines, list, version }: PlantedBug): typeof sendRequest {
  return async (requested, options) => {
    const url = new URL(requested);
    const from = url.searchParams.get('resourceVersion');
    if (url.searchParams.has('watch') && from !== null && version !== undefined) {
      url.searchParams.set('resourceVersion', await version(from));
    }
    const response = await sendRequest(url.href, options);
    const alter = lines?.() ?? ((line) => [line]);
    return {
      ...response,
      text: async () => {
        const body = await response.text();
        return list?.(body) ?? body;
      },
      batches: async function* () {
        for await (const batch of response.batches()) yield batch.flatMap(alter);
      },
    };
  };
}
