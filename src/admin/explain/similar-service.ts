import { isWithinEdits } from '../../text/edit-distance.ts';

/** Letters that may differ: one of three, at most two. */
const editsOf = (name: string) => Math.min(2, Math.max(1, Math.floor(name.length / 3)));

/**
 * ` Did you mean shop/web?`, or nothing: a Service of the same name in another Namespace, or one of the same Namespace
 * whose name differs by few letters. It compares no other names, because a cluster can have 50,000.
 *
 * @param service `namespace/name`
 */
export function similarService(service: string, known: Iterable<string>): string {
  const [namespace = '', name = ''] = service.split('/');
  let near: string | undefined;
  for (const candidate of known) {
    const slash = candidate.indexOf('/');
    const other = candidate.slice(slash + 1);
    if (other === name) return ` Did you mean ${candidate}?`;
    if (near !== undefined || !candidate.startsWith(`${namespace}/`)) continue;
    if (isWithinEdits(name, other, editsOf(name))) near = candidate;
  }
  return near === undefined ? '' : ` Did you mean ${near}?`;
}
