import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { WrapperError } from '../../../src/errors.ts';
import { isLabelKey, isLabelValue } from '../../../src/topology/policy/label.ts';
import {
  matchesLabels,
  negate,
  parseLabelSelector,
  valuesSelector,
} from '../../../src/topology/policy/label-selector.ts';

type Labels = Readonly<Record<string, string>>;

function matches(selector: string, labels: Labels): boolean {
  return matchesLabels(parseLabelSelector(selector), new Map(Object.entries(labels)));
}

describe('parseLabelSelector()', () => {
  test.each<[string, Labels, Labels]>([
    ['role', { role: '' }, {}],
    ['!role', {}, { role: '' }],
    ['! role', {}, { role: 'edge' }],
    ['role=edge', { role: 'edge' }, {}],
    ['role == edge', { role: 'edge' }, { role: 'far' }],
    ['role=', { role: '' }, {}],
    ['role != edge', {}, { role: 'edge' }],
    ['role in (a, b)', { role: 'b' }, { role: 'c' }],
    ['x.io/role notin (a)', { 'x.io/role': 'b' }, { 'x.io/role': 'a' }],
    [' a , b in (x,y),!c', { a: '', b: 'y' }, { a: '', b: 'y', c: '' }],
  ])('accepts %j, which matches %j and not %j', (text, matching, other) => {
    expect([matches(text, matching), matches(text, other)]).toEqual([true, false]);
  });

  test('accepts 64 requirements, and keeps the text of each', () => {
    const all = Array.from({ length: 64 }, (_, n) => `k${n} in (a, b)`);
    expect(parseLabelSelector(all.join(' , ')).map(({ text }) => text)).toEqual(all);
  });

  test.each([
    ['', /it is empty/],
    ['a,', /"" is not one of key/],
    ['a b', /"a b" is not one of key, !key, key=value, key!=value, key in \(a,b\)/],
    ['a in (b', /is not one of/],
    ['a in ()', /has no values/],
    ['a>1', /"a>1" is not a label key/],
    ['a/b/c=d', /"a\/b\/c" is not a label key/],
    ['a=-b', /"-b" is not a label value/],
    ['a in (b,c*)', /"c\*" is not a label value/],
    ['a,b)', /"b\)" is not one of/],
    [Array(65).fill('a').join(','), /it has more than 64 requirements/],
  ])('rejects %j and says why', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(message);
    expect(() => parseLabelSelector(text)).toThrow(WrapperError);
  });
});

const anyValues = fc.uniqueArray(fc.constantFrom('a', 'b', ''), { minLength: 1 });
const anyRequirement = fc
  .tuple(fc.constantFrom('k', 'l'), fc.nat(3), anyValues)
  .map(([key, kind, values]) => {
    if (kind === 0) return key;
    if (kind === 1) return `!${key}`;
    return valuesSelector(key, kind === 2 ? '=' : '!=', values);
  });
const anyLabels = fc.dictionary(fc.constantFrom('k', 'l'), fc.constantFrom('a', 'b', 'c', ''));

describe('negate()', () => {
  test('for any selector and labels, either the selector matches or one of the negated ones does', () => {
    fc.assert(
      fc.property(
        fc.array(anyRequirement, { minLength: 1, maxLength: 3 }),
        anyLabels,
        (all, labels) => {
          const selector = all.join(',');
          const negated = negate(parseLabelSelector(selector));
          expect(negated.some((each) => matches(each, labels))).toBe(!matches(selector, labels));
        },
      ),
    );
  });
});

describe('valuesSelector()', () => {
  test('writes one value or several as Kubernetes does', () => {
    expect(valuesSelector('k', '=', ['a'])).toBe('k=a');
    expect(valuesSelector('k', '!=', ['a'])).toBe('k!=a');
    expect(valuesSelector('k', '=', ['a', 'b'])).toBe('k in (a,b)');
    expect(valuesSelector('k', '!=', ['a', 'b'])).toBe('k notin (a,b)');
  });
});

const long = 'a'.repeat(63);

test('isLabelKey() and isLabelValue() accept what Kubernetes accepts', () => {
  const keys = ['a', 'A.b_c-d', 'x.io/A', long, `x.io/${long}`, `${'a'.repeat(253)}/b`];
  const noKeys = ['', '/a', 'a/', 'X.io/a', 'x..io/a', '-a', 'a-', 'a b', 'ä', `${long}a`, 'a/b/c'];
  expect(keys.filter((key) => !isLabelKey(key))).toEqual([]);
  expect([...noKeys, 'a\n', `${'a'.repeat(254)}/b`].filter(isLabelKey)).toEqual([]);
  const values = ['', 'a', 'A.b_c-1', long];
  expect(values.filter((value) => !isLabelValue(value))).toEqual([]);
  expect(['-a', 'a-', 'a/b', 'a b', `${long}a`, 'a\n'].filter(isLabelValue)).toEqual([]);
});
