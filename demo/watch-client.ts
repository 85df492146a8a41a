import { request } from 'undici';
import type { RawEvent } from '../src/filter/codec/codec.ts';
import { createJsonCodec } from '../src/filter/codec/json/codec.ts';

/** The fields of an EndpointSlice that the demo prints. */
export interface SeenSlice {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly endpoints?: readonly { readonly addresses: readonly string[] }[] | null;
}

/** A client of the wrapper that watches EndpointSlices. */
export interface WatchClient {
  /** Addresses in the view by `namespace/name` of the slice. */
  readonly shown: ReadonlyMap<string, ReadonlySet<string>>;
  close(): Promise<void>;
}

/**
 * Watches EndpointSlices with a streaming list like kube-proxy. Calls `changed` after each batch of events. Resolves
 * when the first list is complete.
 */
export async function watchSlices(url: string, changed: () => void): Promise<WatchClient> {
  const controller = new AbortController();
  const shown = new Map<string, ReadonlySet<string>>();
  const query =
    'watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
  const { body, statusCode } = await request(
    `${url}/apis/discovery.k8s.io/v1/endpointslices?${query}`,
    { signal: controller.signal, bodyTimeout: 0, headers: { accept: 'application/json' } },
  );
  if (statusCode !== 200)
    throw new Error(`the wrapper answered ${statusCode}: ${await body.text()}`);
  const { promise: listed, resolve, reject } = Promise.withResolvers<void>();
  const follow = async (): Promise<void> => {
    const decoder = createJsonCodec().watchDecoder(1 << 20);
    for await (const chunk of body as AsyncIterable<Buffer>) {
      const { events, fault } = decoder.push(chunk);
      for (const event of events) {
        if (event.type === 'BOOKMARK') resolve();
        else apply(shown, event);
      }
      if (events.length > 0) changed();
      if (fault !== undefined) throw fault;
    }
  };
  const following = follow().catch((error: unknown) => {
    if (!controller.signal.aborted) reject(error);
  });
  await listed;
  return {
    shown,
    async close() {
      controller.abort();
      await following;
    },
  };
}

function apply(shown: Map<string, ReadonlySet<string>>, event: RawEvent): void {
  if (event.type === 'ERROR') throw new Error(`the watch ended: ${event.status.message}`);
  const slice = JSON.parse(event.object.toString()) as SeenSlice;
  const key = `${slice.metadata.namespace}/${slice.metadata.name}`;
  if (event.type === 'DELETED') shown.delete(key);
  else shown.set(key, new Set((slice.endpoints ?? []).flatMap(({ addresses }) => addresses)));
}
