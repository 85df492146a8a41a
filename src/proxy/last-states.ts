import { z } from 'zod';
import { parseVersion } from '../filter/version-clock.ts';
import type { View } from '../filter/view.ts';
import type { Digests } from './digests.ts';
import { questionKey } from './question.ts';
import type { ViewSource } from './view-source.ts';

/** Raised when digests are made in another way: those of another format compare with nothing. */
const FORMAT = 1;

/** Digests of a view's objects, by key. */
export type DigestsByKey = Readonly<Record<string, string>>;

const schema = z.object({
  format: z.literal(FORMAT),
  node: z.string(),
  views: z.array(
    z.object({
      question: z.string(),
      version: z.string(),
      // There may be 100,000, and what is no digest is like none: that each is a text need not be checked.
      digests: z.custom<DigestsByKey>((value) => typeof value === 'object' && value !== null),
    }),
  ),
});

/** The last state of a view that a process showed. */
export interface LastState {
  /** See {@link questionKey}. */
  readonly question: string;
  /** Its resourceVersion, from which clients go on. */
  readonly version: bigint;
  readonly digests: DigestsByKey;
}

export function writeLastStates(
  node: string,
  sources: readonly ViewSource[],
  digests: Digests,
): string {
  const views = sources
    .filter(({ view }) => view.started)
    .map(({ question, view }) => ({
      question: questionKey(question),
      version: String(view.log.version),
      digests: digestsOf(view, digests),
    }));
  return JSON.stringify({ format: FORMAT, node, views });
}

function digestsOf(view: View, digests: Digests): DigestsByKey {
  const byKey: Record<string, string> = {};
  for (const key of view.keys()) byKey[key] = digests.of(view, key) ?? '';
  return byKey;
}

/** Reads what {@link writeLastStates} wrote; nothing when it is of another node or another program. */
export function readLastStates(text: string, node: string): LastState[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // It ended in the midst of it: there is nothing to be learnt.
    return [];
  }
  const { data } = schema.safeParse(value);
  if (data === undefined || data.node !== node) return [];
  return data.views.flatMap(({ question, version, digests }) => {
    const parsed = parseVersion(version);
    if (parsed === undefined) return [];
    return [{ question, version: parsed, digests }];
  });
}
