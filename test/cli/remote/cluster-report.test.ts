import { expect, test } from '@jest/globals';
import { formatStatusLines } from '../../../cli/output/status-text.ts';
import { clusterReport, type NodeReport } from '../../../cli/remote/cluster-report.ts';
import type { StatusLine } from '../../../src/admin/status/status-line.ts';

test('nodes with the same cause name it, and others do not', () => {
  const line = { id: 'stateDir', state: 'problem', text: 'the state cannot be written' } as const;
  const printed = (...causes: string[]) =>
    clusterReport(
      causes.map((detail, index) => ({ node: `n${index}`, lines: [{ ...line, detail }] })),
    ).text({ wide: false, headers: true });
  expect(printed('ENOSPC', 'ENOSPC')).toContain('written (2 of 2 nodes: n0, n1; ENOSPC)');
  expect(printed('ENOSPC', 'EROFS')).toContain('written (2 of 2 nodes: n0, n1)');
});

// The URL, the socket and the labels of the first node were printed as if they were those of all.
test('what differs from node to node is left out of their line, which says how to see it', () => {
  const line = { id: 'kube-proxy', state: 'problem', text: 'not pointed here' } as const;
  const nodes = ['site', 'rack'].map((key, index): NodeReport => {
    const missing = [{ key, services: 1, failing: 1, names: ['shop/web'] }];
    return { node: `n${index}`, lines: [{ ...line, next: `label it with ${key}`, missing }] };
  });
  const groupsOf = (reports: readonly NodeReport[]) =>
    (clusterReport(reports).data as { groups: { line: StatusLine }[] }).groups;
  expect(groupsOf(nodes)).toHaveLength(1);
  expect(groupsOf(nodes)[0]?.line).toEqual({
    ...line,
    next: 'kubectl kpw status --node n0 says what to do there',
  });
  const [first] = nodes as [NodeReport];
  const same = [first, { ...first, node: 'n1' }];
  expect(groupsOf(same)[0]?.line).toEqual(first.lines[0]);
});

// "21 of 3 nodes" once had the same problem.
test('a node with several such lines is named once', () => {
  const line = { id: 'wrapper', state: 'problem', text: 'not watched' } as const;
  const lines = ['x=1', 'x=2'].map((detail) => ({ ...line, detail }));
  const nodes = ['n0', 'n1'].map((node) => ({ node, lines }));
  const printed = clusterReport(nodes).text({ wide: false, headers: true });
  expect(printed).toContain('not watched (2 of 2 nodes: n0, n1)');
});

test('the states of lines have words, and are counted', () => {
  const states = [
    'ok',
    'problem',
    'warning',
    'note',
    'unknown',
    'notConnected',
    'notConnected',
  ] as const;
  const lines = states.map((state): StatusLine => ({ id: 'rules', state, text: state }));
  expect(formatStatusLines(lines)).toBe(`[ok]   rules        ok
[FAIL] rules        problem
[warn] rules        warning
[note] rules        note
[not known] rules        unknown
[not used] rules        notConnected
[not used] rules        notConnected

1 problem, 1 warning, 1 note, 1 not known, 2 not used
`);
});

test('5,000 nodes fit on a screen, the problems first', () => {
  const ok = { id: 'wrapper', state: 'ok', text: 'ready' } as const;
  const lost = { id: 'rules', state: 'problem', text: 'the kernel has no rules' } as const;
  const unused = { id: 'kube-proxy', state: 'notConnected', text: 'nobody watches' } as const;
  const nodes = Array.from({ length: 5_000 }, (_, n): NodeReport => {
    const node = `edge-${n}`;
    if (n % 100 === 7) return { node, lines: [ok, { ...lost, detail: node }] };
    return { node, version: '1.1.0', lines: n % 4 === 0 ? [ok, unused] : [ok] };
  });
  const out = clusterReport(nodes).text({ wide: false, headers: true });
  const lines = out.trim().split('\n');
  expect(lines).toEqual([
    '[FAIL] rules        the kernel has no rules (50 of 5000 nodes: edge-7, edge-107, edge-207, edge-307, edge-407 and 45 more)',
    expect.stringMatching(
      /^\[not used\] kube-proxy +nobody watches \(1250 of 5000 nodes: .{1,80}$/,
    ),
    '',
    expect.stringMatching(/^version 1\.1\.0, .{1,80} more$/),
    '3700 of 5000 nodes are well, 50 with problems, 1250 not pointed at the wrapper',
  ]);
});
