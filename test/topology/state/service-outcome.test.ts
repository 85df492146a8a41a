import { describe, expect, test } from '@jest/globals';
import { NODE_OFF, type Policy } from '../../../src/topology/policy/policy.ts';
import { isHidden, type KindInput, kindOf } from '../../../src/topology/state/service-outcome.ts';

const managed: Policy = { managed: true, keys: ['kube-proxy-wrapper.io/cloud'], source: 'default' };
const dryRun: Policy = { ...managed, dryRun: true };
const left: Policy = { managed: false, reason: 'other-proxy' };
const none: Policy = { managed: false, reason: 'no-policy' };
const plain = { ofOtherProxy: false, withheld: false };

describe('a Service', () => {
  test.each<[string, KindInput, string, boolean]>([
    [
      'with an active policy',
      { ...plain, policy: managed, pendingOrActive: managed },
      'filtered',
      false,
    ],
    ['without a policy', { ...plain, policy: none, pendingOrActive: none }, 'unfiltered', false],
    [
      'whose first policy is pending',
      { ...plain, policy: undefined, pendingOrActive: managed },
      'undecided',
      true,
    ],
    [
      'whose first policy is a dry run',
      { ...plain, policy: undefined, pendingOrActive: dryRun },
      'undecided',
      false,
    ],
    ['of another proxy', { ...plain, policy: left, pendingOrActive: left }, 'hidden', true],
    [
      'of another proxy, in a dry run',
      { ...plain, policy: { ...left, dryRun: true }, pendingOrActive: left },
      'hidden',
      false,
    ],
    [
      'of another proxy by its label',
      { ...plain, ofOtherProxy: true, policy: none, pendingOrActive: none },
      'hidden',
      true,
    ],
    [
      'whose traffic all goes to the cloud',
      { ...plain, withheld: true, policy: managed, pendingOrActive: managed },
      'withheld',
      true,
    ],
    [
      'whose traffic all goes to the cloud, in a dry run',
      { ...plain, withheld: true, policy: dryRun, pendingOrActive: dryRun },
      'withheld',
      false,
    ],
    [
      'whose traffic went to the cloud until its policy was deleted',
      { ...plain, withheld: true, policy: none, pendingOrActive: none },
      'unfiltered',
      false,
    ],
    [
      'whose new policy is pending',
      { ...plain, policy: managed, pendingOrActive: dryRun },
      'filtered',
      false,
    ],
    [
      'on a node that is switched off',
      { ofOtherProxy: true, withheld: true, policy: NODE_OFF, pendingOrActive: managed },
      'unfiltered',
      false,
    ],
  ])('%s is %s', (_what, known, kind, hidden) => {
    const found = kindOf(known);
    expect([found.kind, isHidden(found)]).toEqual([kind, hidden]);
  });
});
