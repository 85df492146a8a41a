/** A section of CHANGELOG.md. */
export interface ChangelogSection {
  /** Text after `## `, such as `1.1.0 - 2026-12-01`. */
  readonly title: string;
  readonly text: string;
}

/** The section of a version; undefined if there is none. */
export function sectionOf(changelog: string, version: string): ChangelogSection | undefined {
  for (const section of changelog.split(/^## /m).slice(1)) {
    const [title = '', ...lines] = section.split('\n');
    if (title.split(' ')[0] === version) return { title, text: lines.join('\n').trim() };
  }
  return undefined;
}
