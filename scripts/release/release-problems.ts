import { sectionOf } from './changelog.ts';
import { type Manifest, PLACEHOLDER_OWNER, projectOf } from './project.ts';

/** What a release is made of. */
export interface ReleaseInput {
  readonly manifest: Manifest;
  /** Text of CHANGELOG.md. */
  readonly changelog: string;
  /** The tag that is built, such as `v1.1.0`. */
  readonly tag: string;
  /** The repository that is built, such as `example/kube-proxy-wrapper`. */
  readonly slug: string;
}

/** Why nothing may be published from this tag, one sentence each. */
export function releaseProblems({ manifest, changelog, tag, slug }: ReleaseInput): string[] {
  const { version } = manifest;
  const project = projectOf(manifest);
  const problems: string[] = [];
  if (tag !== `v${version}`) {
    problems.push(`The tag is ${tag}, but package.json has the version ${version}.`);
  }
  if (version.endsWith('-dev')) {
    problems.push(`${version} is a version under development: run set-version.ts first.`);
  }
  const section = sectionOf(changelog, version);
  if (section === undefined) {
    problems.push(`CHANGELOG.md has no section "## ${version} - <date>".`);
  } else if (!/ \d{4}-\d\d-\d\d$/.test(section.title)) {
    problems.push(`The section "## ${section.title}" of CHANGELOG.md has no date.`);
  }
  if (project.slug.split('/')[0] === PLACEHOLDER_OWNER) {
    problems.push('repository in package.json is a placeholder: run set-repository.ts first.');
  } else if (project.slug !== slug) {
    problems.push(`This repository is ${slug}, but package.json names ${project.slug}.`);
  }
  return problems;
}
