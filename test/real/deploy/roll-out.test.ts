import { expect, test } from '@jest/globals';
import { only, parseObjects } from '../../../harness/deploy/render.ts';
import { readText } from '../../../harness/deploy/repository.ts';

/** A new Pod that ends in its first seconds stops an update. */
const FIRST_SECONDS = 10;

// With maxSurge the controller of DaemonSets waits for the minReadySeconds of one Pod at a time: when two became ready
// within that time, the Pod before the second one stayed, and the roll-out stood still. See the script in findings/.
// A successThreshold is no time: the kubelet checks a Pod that is not ready whenever it looks at it.
test.each(['manifests/base/daemonset.yaml', 'manifests/components/relay/daemonset.yaml'])(
  'a new Pod of %s is not ready in its first 10 s, and needs no minReadySeconds',
  (file) => {
    const { spec } = only(parseObjects(readText(file)), 'DaemonSet');
    const [{ readinessProbe }] = spec.template.spec.containers;
    expect(spec.updateStrategy.rollingUpdate).toMatchObject({ maxUnavailable: 0 });
    expect(spec.minReadySeconds).toBeUndefined();
    expect(readinessProbe.initialDelaySeconds).toBe(FIRST_SECONDS);
  },
);
