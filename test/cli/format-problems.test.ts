import { expect, test } from '@jest/globals';
import {
  formatProblemsOfServices,
  type ProblemOfService,
} from '../../cli/output/format-problems.ts';
import { type ProblemCode, problem, type Severity } from '../../src/diagnosis/catalogue.ts';

const many = (code: ProblemCode, severity: Severity, count: number): ProblemOfService[] =>
  Array.from({ length: count }, (_, n) => ({
    ...problem(code, `m${n}`, severity),
    subjects: [],
    service: `default/s${n}`,
  }));

// 10,000 Services once made 7,400 lines.
test('many findings of one kind are one line with their number and the first names', () => {
  expect(formatProblemsOfServices(many('no-endpoint', 'info', 7_400))).toBe(
    'i 7400 Services: the policy leaves no ready endpoint, so connections fail (no-endpoint): default/s0, default/s1, default/s2 and 7397 more; all are in -o json\n',
  );
});

test('a few are a line each, and kinds are not mixed', () => {
  const text = formatProblemsOfServices([
    ...many('no-endpoint', 'warning', 20),
    ...many('invalid-policy', 'warning', 21),
    ...many('no-endpoint', 'info', 5),
  ]);
  expect(text.match(/^ {4}next: /gm)).toHaveLength(2);
  const lines = text.match(/^[!i] .*/gm) ?? [];
  expect(lines).toHaveLength(20 + 1 + 5);
  expect(lines[20]).toMatch(/^! 21 Services: the policy is invalid/);
});
