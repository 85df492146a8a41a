import { expect, test } from '@jest/globals';
import { encodeObject } from '../../support/codec/encode-object.ts';
import { CODECS } from '../../support/guarantees/watch-recorder.ts';

test.each(['json', 'protobuf'] as const)(
  'the facts of a Service have its trafficDistribution (%s)',
  (encoding) => {
    const read = (spec: object) =>
      CODECS[encoding].service(encodeObject(encoding, 'Service', { metadata: {}, spec }));
    const spec = { internalTrafficPolicy: 'Cluster', trafficDistribution: 'PreferSameNode' };
    expect(read(spec)).toMatchObject(spec);
    expect(read({ type: 'ClusterIP' }).trafficDistribution).toBe('');
  },
);
