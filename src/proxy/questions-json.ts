import { NODES, RESOURCES } from '../filter/resource.ts';
import type { Question } from './question.ts';

/** More than any process has open (maxViews). */
const MAX_QUESTIONS = 256;

/** The questions a process has views for, in a form that its successor can read. */
export function writeQuestions(questions: readonly Question[]): string {
  return JSON.stringify(
    questions.map(({ resource: { group, plural }, ...rest }) => ({ ...rest, group, plural })),
  );
}

/**
 * Reads what {@link writeQuestions} wrote; what is not understood is left out, for it may be of another
 * version. Of Nodes only the own one is asked for.
 */
export function readQuestions(text: string, nodeName: string): Question[] {
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch {
    // No JSON: there is nothing to be learnt from it.
    return [];
  }
  if (!Array.isArray(entries)) return [];
  return entries.slice(0, MAX_QUESTIONS).flatMap((entry) => readQuestion(entry, nodeName));
}

function readQuestion(entry: unknown, nodeName: string): Question[] {
  if (typeof entry !== 'object' || entry === null) return [];
  const { group, plural, namespace, labelSelector, fieldSelector, encoding } = entry as Record<
    string,
    unknown
  >;
  const resource = RESOURCES.find((each) => each.group === group && each.plural === plural);
  if (resource === undefined || (encoding !== 'json' && encoding !== 'protobuf')) return [];
  if (typeof namespace !== 'string' || typeof labelSelector !== 'string') return [];
  if (typeof fieldSelector !== 'string') return [];
  if (resource === NODES && fieldSelector !== `metadata.name=${nodeName}`) return [];
  return [{ resource, namespace, labelSelector, fieldSelector, encoding }];
}
