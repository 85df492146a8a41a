import { afterEach } from '@jest/globals';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import { SERVICES } from '../../../src/filter/codec/resource.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { Reflector } from '../../../src/proxy/reflector/reflector.ts';
import { captureLogger } from '../http/logger.ts';
import { upstreamPerTest } from '../http/upstream.ts';

export interface Script {
  /** The first event of each watch. */
  readonly event: () => object;
  /** Milliseconds after which a watch ends; default: never. */
  readonly watchMs?: number;
  readonly maxObjects?: number;
  readonly random?: () => number;
}

/** Starts reflectors of API servers with empty lists, which answer each watch the same way. All end with the test. */
export function scriptedReflectors() {
  const startUpstream = upstreamPerTest();
  const controllers: AbortController[] = [];
  afterEach(() => {
    for (const controller of controllers.splice(0)) controller.abort();
  });
  return async ({ event, watchMs, maxObjects = 1000, random = Math.random }: Script) => {
    const asked = { lists: 0, watches: 0, versions: 0 };
    const { upstream, lines } = await startUpstream((request, response) => {
      const isWatch = request.url?.includes('watch=true') === true;
      const isAboutVersion = request.url?.includes('metadata.name%3Dnobody') === true;
      const metadata = { resourceVersion: isAboutVersion ? '99' : '10' };
      const list = { kind: 'ServiceList', metadata, items: [] };
      asked[isAboutVersion ? 'versions' : isWatch ? 'watches' : 'lists']++;
      response.setHeader('content-type', 'application/json');
      response.write(`${JSON.stringify(isWatch ? event() : list)}\n`);
      if (!isWatch) response.end();
      else if (watchMs !== undefined) setTimeout(() => response.end(), watchMs);
    });
    const codec = createJsonCodec();
    const query = { resource: SERVICES, namespace: '', labelSelector: '', fieldSelector: '' };
    const reflector = new Reflector({
      ...{
        upstream,
        random,
        logger: captureLogger().logger,
        handlers: [],
        metadataOnly: false,
      },
      query: { ...query, encoding: 'json' },
      decode: (object) => codec.meta(object),
      versions: new VersionAllocator(0),
      readLimits: { maxObjects, maxListBytes: 1 << 20, maxObjectBytes: 1 << 20 },
    });
    const controller = new AbortController();
    controllers.push(controller);
    void reflector.run(controller.signal);
    const logged = (msg: string) => lines.filter((line) => JSON.parse(line).msg === msg).length;
    return { reflector, asked, logged };
  };
}
