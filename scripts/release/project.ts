import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The root of the repository. */
export const ROOT = resolve(import.meta.dirname, '../..');

/** Where the project is published. All of it follows from `name`, `version` and `repository` in package.json. */
export interface Project {
  readonly name: string;
  readonly version: string;
  /** Address of the repository, such as `https://github.com/example/kube-proxy-wrapper`. */
  readonly repository: string;
  /** Owner and name of the repository, such as `example/kube-proxy-wrapper`. */
  readonly slug: string;
  /** What is published below, such as `ghcr.io/example`. */
  readonly registry: string;
  /** Image of the wrapper, without a tag. */
  readonly image: string;
  /** Repository of the chart in the registry, without the name of the chart. */
  readonly charts: string;
}

/** A package.json, as far as a release reads it. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly repository: { readonly type: string; readonly url: string };
}

/** The image that the manifests and the chart name as long as nothing is published. */
export const PLACEHOLDER_IMAGE = 'registry.example.com/kube-proxy-wrapper';

/** The owner in `repository` as long as nobody has set the real one. */
export const PLACEHOLDER_OWNER = 'example';

const REPOSITORY = /^git\+(https:\/\/github\.com\/([\w.-]+\/[\w.-]+))\.git$/;

/** Throws for a `repository` that is not the address of a GitHub repository in npm's form. */
export function projectOf({ name, version, repository: { url } }: Manifest): Project {
  const [, repository, slug] = REPOSITORY.exec(url) ?? [];
  if (repository === undefined || slug === undefined) {
    throw new Error(
      `package.json: repository.url is ${url}, not git+https://github.com/<owner>/<name>.git`,
    );
  }
  // Names of images have no capital letters.
  const registry = `ghcr.io/${slug.split('/')[0]?.toLowerCase()}`;
  return {
    name,
    version,
    repository,
    slug,
    registry,
    image: `${registry}/${name}`,
    charts: `${registry}/charts`,
  };
}

export function readManifest(): Manifest {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
}

export function readProject(): Project {
  return projectOf(readManifest());
}
