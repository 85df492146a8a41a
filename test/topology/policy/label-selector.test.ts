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

function matches(selector: string, labels: Record<string, string>): boolean {
  return matchesLabels(parseLabelSelector(selector), new Map(Object.entries(labels)));
}

describe('parseLabelSelector()', () => {
  test.each([
    ['role', [{ key: 'role', operator: 'exists', values: [] }]],
    ['!role', [{ key: 'role', operator: 'absent', values: [] }]],
    ['! role', [{ key: 'role', operator: 'absent', values: [] }]],
    ['role=edge', [{ key: 'role', operator: 'in', values: ['edge'] }]],
    ['role == edge', [{ key: 'role', operator: 'in', values: ['edge'] }]],
    ['role=', [{ key: 'role', operator: 'in', values: [''] }]],
    ['role != edge', [{ key: 'role', operator: 'notin', values: ['edge'] }]],
    ['role in (a, b)', [{ key: 'role', operator: 'in', values: ['a', 'b'] }]],
    ['x.io/role notin (a)', [{ key: 'x.io/role', operator: 'notin', values: ['a'] }]],
    [
      ' a , b in (x,y),!c',
      [
        { key: 'a', operator: 'exists', values: [] },
        { key: 'b', operator: 'in', values: ['x', 'y'] },
        { key: 'c', operator: 'absent', values: [] },
      ],
    ],
  ])('accepts %j', (text, requirements) => {
    expect(parseLabelSelector(text)).toMatchObject(requirements);
  });

  test('accepts 64 requirements, and keeps the text of each', () => {
    const all = Array.from({ length: 64 }, (_, n) => `k${n} in (a, b)`);
    expect(parseLabelSelector(all.join(' , ')).map(({ text }) => text)).toEqual(all);
  });

  test.each([
    ['', /it is empty/],
    ['  ', /it is empty/],
    ['a,', /"" is not one of key/],
    ['a b', /"a b" is not one of key, !key, key=value, key!=value, key in \(a,b\)/],
    ['a in (b', /is not one of/],
    ['a in b', /is not one of/],
    ['a in ()', /has no values/],
    ['a>1', /"a>1" is not a label key/],
    ['-a', /"-a" is not a label key/],
    ['a/b/c=d', /"a\/b\/c" is not a label key/],
    ['a=b c', /is not one of/],
    ['a=-b', /"-b" is not a label value/],
    ['a in (b,c*)', /"c\*" is not a label value/],
    ['a,b)', /"b\)" is not one of/],
    [Array(65).fill('a').join(','), /it has more than 64 requirements/],
  ])('rejects %j and says why', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(message);
    expect(() => parseLabelSelector(text)).toThrow(WrapperError);
  });
});

describe('matchesLabels()', () => {
  test.each<[string, Record<string, string>, boolean]>([
    ['role', { role: '' }, true],
    ['role', {}, false],
    ['!role', {}, true],
    ['role=edge', { role: 'edge' }, true],
    ['role=edge', {}, false],
    ['role=', { role: '' }, true],
    ['role=', {}, false],
    ['role!=edge', {}, true],
    ['role!=edge', { role: 'edge' }, false],
    ['role notin (a,b)', { role: 'c' }, true],
    ['role in (a,b),lab', { role: 'a' }, false],
    ['role in (a,b),lab', { role: 'b', lab: 'x' }, true],
  ])('%j of %j: %j', (selector, labels, expected) => {
    expect(matches(selector, labels)).toBe(expected);
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

describe('isLabelKey()', () => {
  test.each(['a', 'A.b_c-d', 'x.io/A', long, `x.io/${long}`, `${'a'.repeat(253)}/b`])(
    'accepts %s',
    (key) => {
      expect(isLabelKey(key)).toBe(true);
    },
  );

  test.each([
    '',
    '/a',
    'a/',
    'X.io/a',
    'x..io/a',
    '-a',
    'a-',
    'a b',
    'ä',
    `${long}a`,
    'a/b/c',
    'a\n',
  ])('rejects %j', (key) => {
    expect(isLabelKey(key)).toBe(false);
  });

  test('rejects a prefix that is too long', () => {
    expect(isLabelKey(`${'a'.repeat(254)}/b`)).toBe(false);
  });
});

describe('isLabelValue()', () => {
  test.each(['', 'a', 'A.b_c-1', long])('accepts %j', (value) => {
    expect(isLabelValue(value)).toBe(true);
  });

  test.each(['-a', 'a-', 'a/b', 'a b', `${long}a`, 'a\n'])('rejects %j', (value) => {
    expect(isLabelValue(value)).toBe(false);
  });
});
