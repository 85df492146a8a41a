import { describe, expect, test } from '@jest/globals';
import type { Policy } from '../../../src/topology/policy/policy.ts';
import { type VisibilityInput, whyHidden } from '../../../src/topology/state/visibility.ts';

const managed: Policy = { managed: true, keys: ['kube-proxy-wrapper.io/cloud'], source: 'default' };
const dryRun: Policy = { ...managed, dryRun: true };
const left: Policy = { managed: false, reason: 'other-proxy' };
const none: Policy = { managed: false, reason: 'no-policy' };
const plain = { nodeOff: false, ofOtherProxy: false, cloudOnly: false };

describe('a Service', () => {
  test.each<[string, VisibilityInput, string | undefined]>([
    ['with a policy in force', { ...plain, policy: managed, wanted: managed }, undefined],
    ['without a policy', { ...plain, policy: none, wanted: none }, undefined],
    ['whose first policy is pending', { ...plain, policy: undefined, wanted: managed }, 'waiting'],
    ['whose first policy is a dry run', { ...plain, policy: undefined, wanted: dryRun }, undefined],
    ['of another proxy', { ...plain, policy: left, wanted: left }, 'hidden'],
    [
      'of another proxy, in a dry run',
      { ...plain, policy: { ...left, dryRun: true }, wanted: left },
      undefined,
    ],
    [
      'of another proxy by its label',
      { ...plain, ofOtherProxy: true, policy: none, wanted: none },
      'hidden',
    ],
    [
      'whose traffic all goes to the cloud',
      { ...plain, cloudOnly: true, policy: managed, wanted: managed },
      'withheld',
    ],
    [
      'whose traffic all goes to the cloud, in a dry run',
      { ...plain, cloudOnly: true, policy: dryRun, wanted: dryRun },
      undefined,
    ],
    [
      'whose traffic went to the cloud until its policy was deleted',
      { ...plain, cloudOnly: true, policy: none, wanted: none },
      undefined,
    ],
    ['whose new policy is pending', { ...plain, policy: managed, wanted: dryRun }, undefined],
    [
      'on a node that is switched off',
      { nodeOff: true, ofOtherProxy: true, cloudOnly: true, policy: undefined, wanted: managed },
      undefined,
    ],
  ])('%s is %s', (_what, known, expected) => {
    expect(whyHidden(known)).toBe(expected);
  });
});
