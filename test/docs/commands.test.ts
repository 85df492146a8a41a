import { expect, test } from '@jest/globals';
import { parseCommandLine } from '../../cli/command-line/command-line.ts';
import { KUBE_PROXY_WRAPPER } from '../../cli/definitions/all.ts';
import { KUBECTL_KPW } from '../../cli/definitions/remote.ts';
import { DOCUMENTS, readDocument } from '../../harness/deploy/documents.ts';

/** Command lines in blocks and in pieces of code, without prompt, comment and what they are piped into. */
function commandLinesOf(page: string): string[] {
  const blocks = [...page.matchAll(/^```(?:sh|text)\n([\s\S]*?)^```$/gm)].flatMap(
    ([, block = '']) => block.replaceAll(/\\\n\s*/g, '').split('\n'),
  );
  const pieces = [...page.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`]+)`/g)];
  return [...blocks, ...pieces.map(([, piece = '']) => piece.replaceAll(/\s+/g, ' '))]
    .flatMap(
      (line) =>
        /^(?:\$ |.* -- |.*\| |npx )?((?:kube-proxy-wrapper|kubectl kpw) [a-z].*)$/.exec(
          line,
        )?.[1] ?? [],
    )
    .map((line) => line.replace(/ +#.*| \|.*/, '').trim())
    .filter((line) => !line.includes('…'));
}

/** Why a command line is wrong; undefined: it is right. */
function mistakeOf(line: string): string | undefined {
  const isRemote = line.startsWith('kubectl');
  const words = line.replace(/^(?:kube-proxy-wrapper|kubectl kpw) /, '').split(' ');
  try {
    parseCommandLine(isRemote ? KUBECTL_KPW : KUBE_PROXY_WRAPPER, words);
    return undefined;
  } catch (error) {
    return `${line}: ${error instanceof Error ? error.message : error}`;
  }
}

const lines = DOCUMENTS.flatMap((page) => commandLinesOf(readDocument(page)));

test('the documents have command lines', () => {
  expect(new Set(lines).size).toBeGreaterThan(10);
});

test.each([...new Set(lines)])('the program accepts: %s', (line) => {
  expect(mistakeOf(line)).toBeUndefined();
});
