import { describe, expect, test } from '@jest/globals';
import { NODE_OFF, type Policy } from '../../../src/topology/policy/policy.ts';
import { isHidden, type KindInput, kindOf } from '../../../src/topology/state/service-outcome.ts';

const managed: Policy = { managed: true, keys: ['kube-proxy-wrapper.io/cloud'], source: 'default' };
const dryRun: Policy = { ...managed, dryRun: true };
const left: Policy = { managed: false, reason: 'other-proxy' };
const none: Policy = { managed: false, reason: 'no-policy' };
const plain = { ofOtherProxy: false, cloudOnly: false };

describe('a Service', () => {
  test.each<[string, KindInput, string, boolean]>([
    ['with an active policy', { ...plain, policy: managed, latest: managed }, 'filtered', false],
    ['without a policy', { ...plain, policy: none, latest: none }, 'unfiltered', false],
    [
      'whose first policy is pending',
      { ...plain, policy: undefined, latest: managed },
      'undecided',
      true,
    ],
    [
      'whose first policy is a dry run',
      { ...plain, policy: undefined, latest: dryRun },
      'undecided',
      false,
    ],
    ['of another proxy', { ...plain, policy: left, latest: left }, 'hidden', true],
    [
      'of another proxy, in a dry run',
      { ...plain, policy: { ...left, dryRun: true }, latest: left },
      'hidden',
      false,
    ],
    [
      'of another proxy by its label',
      { ...plain, ofOtherProxy: true, policy: none, latest: none },
      'hidden',
      true,
    ],
    [
      'whose traffic all goes to the cloud',
      { ...plain, cloudOnly: true, policy: managed, latest: managed },
      'withheld',
      true,
    ],
    [
      'whose traffic all goes to the cloud, in a dry run',
      { ...plain, cloudOnly: true, policy: dryRun, latest: dryRun },
      'withheld',
      false,
    ],
    [
      'whose traffic went to the cloud until its policy was deleted',
      { ...plain, cloudOnly: true, policy: none, latest: none },
      'unfiltered',
      false,
    ],
    [
      'whose new policy is pending',
      { ...plain, policy: managed, latest: dryRun },
      'filtered',
      false,
    ],
    [
      'on a node that is switched off',
      { ofOtherProxy: true, cloudOnly: true, policy: NODE_OFF, latest: managed },
      'unfiltered',
      false,
    ],
  ])('%s is %s', (_what, known, kind, hidden) => {
    const found = kindOf(known);
    expect([found.kind, isHidden(found)]).toEqual([kind, hidden]);
  });
});
