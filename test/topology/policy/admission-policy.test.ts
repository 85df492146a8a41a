import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { loadAll } from 'js-yaml';
import * as annotationNames from '../../../src/topology/policy/annotation-names.ts';
import { ignoredAnnotations } from '../../../src/topology/policy/ignored-annotations.ts';
import { READ_ANNOTATIONS } from '../../../src/topology/policy/key-sources.ts';
import { policyFor } from '../../../src/topology/policy/service-policy.ts';
import { PRESETS } from '../../../src/topology/policy/topology-keys.ts';
import { NO_POLICY } from '../../support/topology/plain-topology.ts';
import { describeService } from '../../support/topology/service-description.ts';

/*
 * The admission policy has the annotations and their grammar a second time, in CEL. This compares what can be read
 * without evaluating CEL; test/real/e2e/admission-policy.test.ts lets a real API server evaluate it.
 */

interface AdmissionPolicy {
  readonly spec: {
    readonly variables: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly { readonly message: string; readonly expression: string }[];
  };
}

const MANIFEST = 'manifests/components/admission-policy/policy.yaml';
const [{ spec }] = loadAll(readFileSync(MANIFEST, 'utf8')) as [AdmissionPolicy];
const ANNOTATIONS: readonly string[] = Object.values(annotationNames);
const PREFIX = 'kube-proxy-wrapper.io/';

/** The list of strings with which the CEL of a variable begins. */
function listIn(variable: string): string[] {
  const { expression = '' } = spec.variables.find(({ name }) => name === variable) ?? {};
  return JSON.parse(/^\[[^\]]*\]/.exec(expression)?.[0] ?? 'null') as string[];
}

/** The validation whose message begins so. */
function validation(message: string) {
  const found = spec.validations.find((each) => each.message.startsWith(message));
  if (found === undefined) throw new Error(`no validation says ${message}`);
  return found;
}

/** The regular expression of a validation: raw strings of CEL, joined by +. */
function patternOf(message: string): RegExp {
  const parts = validation(message).expression.matchAll(/r'([^']*)'/g);
  return new RegExp(Array.from(parts, ([, part = '']) => part).join(''));
}

/** What the wrapper reports about these annotations; undefined: they are valid. */
function problemOf(annotations: Readonly<Record<string, string>>): string | undefined {
  const policy = policyFor(describeService({ annotations }), NO_POLICY);
  return policy.managed || policy.reason !== 'invalid-policy' ? undefined : policy.message;
}

describe('an annotation that the wrapper reads', () => {
  test.each(ANNOTATIONS)('%s is not reported, and changes the policy', (name) => {
    expect(ignoredAnnotations(new Map([[name, 'x']]))).toBeUndefined();
    expect(READ_ANNOTATIONS).toContain(name);
  });

  test('is known to the admission policy, and no other is', () => {
    const own = ANNOTATIONS.filter((name) => name.startsWith(PREFIX));
    expect(listIn('own').toSorted()).toEqual(own.toSorted());
    const keys = [
      annotationNames.TOPOLOGY_KEYS_ANNOTATION,
      annotationNames.PREFIXED_KEYS_ANNOTATION,
    ];
    expect(listIn('policies').toSorted()).toEqual(keys.toSorted());
  });

  test.each(ANNOTATIONS)('%s is in docs/policies.md', (name) => {
    expect(readFileSync('docs/policies.md', 'utf8')).toContain(name);
  });

  test.each(ANNOTATIONS)('%s has a rule in the admission policy', (name) => {
    const isKeys = listIn('policies').includes(name);
    const begin = isKeys ? annotationNames.TOPOLOGY_KEYS_ANNOTATION : name;
    expect(validation(begin).expression).not.toBe('');
  });
});

test('the admission policy has the presets', () => {
  expect(listIn('presets').toSorted()).toEqual(Object.keys(PRESETS).toSorted());
});

test('the admission policy has the values of the filter', () => {
  const { FILTER_ANNOTATION } = annotationNames;
  const { message, expression } = validation(FILTER_ANNOTATION);
  const values = JSON.parse(/\[.*\]/.exec(expression)?.[0] ?? '[]') as string[];
  for (const value of values) expect(problemOf({ [FILTER_ANNOTATION]: value })).toBeUndefined();
  const [, all = ''] = message.split(' must be ');
  expect(problemOf({ [FILTER_ANNOTATION]: 'x' })).toContain(all);
  expect(all.split(/, | or /).toSorted()).toEqual(values.toSorted());
});

test('the admission policy allows as many keys as the wrapper', () => {
  const { expression } = validation('topologyKeys has more than');
  const most = Number(/<= (\d+)/.exec(expression)?.[1]);
  const problemWith = (count: number) =>
    problemOf({ topologyKeys: JSON.stringify(Array.from({ length: count }, (_, n) => `k${n}`)) });
  expect(problemWith(most)).toBeUndefined();
  expect(problemWith(most + 1)).toContain(`at most ${most}`);
});

const space = fc.constantFrom('', ' ', '\n');

/** JSON, or almost. */
function textOf(tokens: fc.Arbitrary<string>, open: string, close: string): fc.Arbitrary<string> {
  const item = fc.tuple(space, tokens, space).map((parts) => parts.join(''));
  return fc
    .tuple(
      fc.uniqueArray(item, { selector: (text) => text.trim(), maxLength: 4 }),
      space,
      fc.nat(9),
    )
    .map(([items, end, cut]) => {
      const text = `${end}${open}${items.join(',')}${close}${end}`;
      return cut === 0 ? text.slice(0, -1) : text;
    });
}

test.each([
  [
    'topologyKeys must be a JSON array',
    annotationNames.TOPOLOGY_KEYS_ANNOTATION,
    textOf(
      fc.constantFrom(
        '"*"',
        '"a"',
        '"a.b/c_d"',
        '"-a"',
        '"a/"',
        '"/a"',
        '"A1"',
        '"a b"',
        '1',
        '""',
        'a',
        '',
      ),
      '[',
      ']',
    ),
  ],
  [
    annotationNames.MIN_READY_ANNOTATION,
    annotationNames.MIN_READY_ANNOTATION,
    textOf(
      fc.constantFrom(
        '"a":1',
        '"b" : 20',
        '"*":3',
        '"c":0',
        '"d":-1',
        '"e":1.5',
        '"f":"1"',
        'g:1',
        '"h"',
        '',
      ),
      '{',
      '}',
    ),
  ],
])('%s accepts what the wrapper accepts', (message, name, texts) => {
  const pattern = patternOf(message);
  fc.assert(
    fc.property(texts, (text) => {
      const problem = problemOf({ topologyKeys: '["*"]', [name]: text });
      expect(pattern.test(text)).toBe(problem === undefined);
    }),
  );
});
