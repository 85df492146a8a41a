import { expect, jest, test } from '@jest/globals';
import type { Result } from '../../cli/command-line/command.ts';
import { parseCommandLine } from '../../cli/command-line/command-line.ts';
import { type WatchFlags, watchStatus } from '../../cli/command-line/watch.ts';
import { KUBE_PROXY_WRAPPER } from '../../cli/definitions/all.ts';
import { KUBECTL_KPW } from '../../cli/definitions/remote.ts';

/** What is printed while these are found, one after the other; an Error is a look that fails. */
async function printedBy(
  found: readonly (string | Error)[],
  flags: WatchFlags = { watch: true },
): Promise<string> {
  const ended = new AbortController();
  let printed = '';
  const write = (text: string | Uint8Array, written?: () => void) => {
    printed += text;
    written?.();
    return true;
  };
  const spies = [
    jest.spyOn(process.stderr, 'write').mockImplementation(write as typeof process.stderr.write),
    jest.spyOn(process.stdout, 'write').mockImplementation(write as typeof process.stdout.write),
  ];
  let looks = 0;
  const find = async (): Promise<Result> => {
    const next = found[looks++] ?? '';
    if (looks >= found.length) ended.abort();
    if (next instanceof Error) throw next;
    return { code: 3, report: { data: next, text: () => `${next}\n` } };
  };
  try {
    const result = await watchStatus(find, flags, { intervalMs: 1, signal: ended.signal });
    return `${printed}(${result.report?.text({ wide: false, headers: true }) ?? result.code})`;
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

test('a status is printed when it changes, and not when only its age does', async () => {
  const found = ['well, 1 s old', 'well, 2 s old', 'bad', 'bad', 'well, 3 s old', 'end'];
  expect(await printedBy(found)).toBe('well, 1 s old\n\nbad\n\nwell, 3 s old\n(3)');
});

test('a later look that fails is printed, and the next one follows', async () => {
  expect(await printedBy(['well', new Error('no API server'), 'bad', 'end'])).toBe(
    'well\nno API server\n\nbad\n(3)',
  );
});

test('a first look that fails is the failure of the command', async () => {
  await expect(printedBy([new Error('no rights'), 'end'])).rejects.toThrow('no rights');
});

test.each([
  ['status --watch', KUBE_PROXY_WRAPPER, 'well\n\nbad\n(3)'],
  ['status -w', KUBECTL_KPW, 'well\n\nbad\n(3)'],
  // One look.
  ['status', KUBECTL_KPW, '(well\n)'],
])('%s is about how many looks there are', async (line, program, printed) => {
  const parsed = parseCommandLine(program, line.split(' '));
  const flags = 'call' in parsed ? parsed.call.flags : {};
  expect(await printedBy(['well', 'bad', 'end'], flags)).toBe(printed);
});
