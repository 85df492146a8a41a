import { isWithinEdits } from '../../text/edit-distance.ts';
import {
  FILTER_ANNOTATION,
  MIN_READY_ANNOTATION,
  PREFIXED_KEYS_ANNOTATION,
  TOPOLOGY_KEYS_ANNOTATION,
} from './annotation-names.ts';
import { localName } from './label.ts';
import { quote } from './quote.ts';
import { OWN_PREFIX } from './topology-keys.ts';

/** The annotations of Services and Namespaces that this program reads under its own prefix. */
const OWN_ANNOTATIONS: readonly string[] = [
  PREFIXED_KEYS_ANNOTATION,
  FILTER_ANNOTATION,
  MIN_READY_ANNOTATION,
];
/** Annotations of earlier versions that are gone, and what to use instead. */
const REMOVED_ANNOTATIONS: ReadonlyMap<string, string> = new Map([
  [
    `${OWN_PREFIX}/return-delay`,
    `successThreshold of the readiness probe, and ${MIN_READY_ANNOTATION}`,
  ],
]);
/** Misspelt names that are reported. The owner of a Service can set thousands. */
const MAX_REPORTED_NAMES = 5;

/**
 * Annotations that were probably meant for this program and have no effect: misspelt and removed names, and of two
 * contradicting annotations the one that does not apply. A sentence for each of them, up to a limit; undefined: there
 * are none.
 */
export function ignoredAnnotations(
  annotations: ReadonlyMap<string, string>,
): readonly string[] | undefined {
  const ignored: string[] = [];
  let more = 0;
  for (const name of annotations.keys()) {
    const advice = adviceAbout(name);
    if (advice === undefined) continue;
    if (ignored.length === MAX_REPORTED_NAMES) more++;
    else ignored.push(`the annotation ${quote(name)} has no effect; ${advice}`);
  }
  if (more > 0) ignored.push(`${more} more annotations have no effect`);
  const prefixed = annotations.get(PREFIXED_KEYS_ANNOTATION);
  const plain = annotations.get(TOPOLOGY_KEYS_ANNOTATION);
  if (prefixed !== undefined && plain !== undefined && prefixed.trim() !== plain.trim()) {
    ignored.push(
      `the annotation ${TOPOLOGY_KEYS_ANNOTATION} has no effect, because ${PREFIXED_KEYS_ANNOTATION} has another value and applies; remove one of them`,
    );
  }
  return ignored.length === 0 ? undefined : ignored;
}

/** What to write in place of an annotation; undefined: it has an effect, or is not meant for this program. */
function adviceAbout(name: string): string | undefined {
  const instead = REMOVED_ANNOTATIONS.get(name);
  if (instead !== undefined) return `it was removed: use ${instead}`;
  const meant = meantBy(name);
  return meant && `did you mean ${meant}?`;
}

/** The name that was probably meant; undefined: the name is right, or is not meant for this program. */
function meantBy(name: string): string | undefined {
  if (name === TOPOLOGY_KEYS_ANNOTATION || OWN_ANNOTATIONS.includes(name)) return undefined;
  const slash = name.indexOf('/');
  if (slash < 0) {
    return isNear(name, TOPOLOGY_KEYS_ANNOTATION) ? TOPOLOGY_KEYS_ANNOTATION : undefined;
  }
  if (!isWithinEdits(name.slice(0, slash), OWN_PREFIX)) return undefined;
  const near = OWN_ANNOTATIONS.find((each) => isNear(name.slice(slash + 1), localName(each)));
  return near ?? `one of ${OWN_ANNOTATIONS.join(', ')}`;
}

function isNear(name: string, meant: string): boolean {
  return isWithinEdits(plainOf(name), plainOf(meant));
}

function plainOf(name: string): string {
  return name.toLowerCase().replace(/[-_.]/g, '');
}
