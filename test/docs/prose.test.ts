import { expect, test } from '@jest/globals';
import { DOCUMENTS, readDocument, withoutCode } from '../../harness/deploy/documents.ts';

const MAX_WORDS_OF_A_SENTENCE = 30;

/** Paragraphs, items of lists and cells of tables, without markup. */
function textsOf(page: string): string[] {
  const lines = withoutCode(page)
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    // A piece of code is one word.
    .replaceAll(/`[^`]+`/g, 'code')
    .replaceAll(/^#.*$/gm, '')
    .split('\n')
    .map((line) => (line.startsWith('|') ? `\n${line.replaceAll('|', '\n\n')}\n` : line))
    .join('\n')
    .replaceAll(/^ *(?:[-*]|\d+\.) /gm, '\n');
  return lines
    .split(/\n\s*\n/)
    .map((text) => text.replaceAll(/[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}/g, ''));
}

function sentencesOf(page: string): string[] {
  return textsOf(page).flatMap((text) =>
    text
      .replaceAll(/\s+/g, ' ')
      .trim()
      .split(/(?<=[.!?]\)?) /),
  );
}

function countWords(text: string): number {
  return text.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

test.each(DOCUMENTS)(`%s has no sentence over ${MAX_WORDS_OF_A_SENTENCE} words`, (path) => {
  const long = sentencesOf(readDocument(path)).filter(
    (sentence) => countWords(sentence) > MAX_WORDS_OF_A_SENTENCE,
  );
  expect(long).toEqual([]);
});

test.each(DOCUMENTS)(
  '%s has no sentence that begins with a pronoun for a noun before it',
  (path) => {
    const begins = (sentence: string) => /^(?:That|Those) of\b/.test(sentence);
    expect(sentencesOf(readDocument(path)).filter(begins)).toEqual([]);
  },
);

const MAX_WORDS_OF_AN_ANSWER = 80;

test('each answer of docs/faq.md is short', () => {
  const [, ...sections] = readDocument('docs/faq.md').split(/^## .*$/m);
  expect(sections.length).toBeGreaterThan(5);
  const words = sections.map((answer) =>
    countWords(textsOf(answer).join(' ').replaceAll(/\s+/g, ' ')),
  );
  expect(words.filter((count) => count > MAX_WORDS_OF_AN_ANSWER)).toEqual([]);
});
