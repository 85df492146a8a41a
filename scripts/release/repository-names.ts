import type { Project } from './project.ts';

type Names = Pick<Project, 'slug' | 'image'>;

/** Replaces the names of a repository by those of another one: its address, its images and its charts. */
export function replaceRepository(text: string, from: Names, to: Names): string {
  return text
    .replaceAll(from.image, to.image)
    .replaceAll(registryOf(from), registryOf(to))
    .replaceAll(`--repo ${from.slug}`, `--repo ${to.slug}`)
    .replaceAll(`github.com/${from.slug}`, `github.com/${to.slug}`);
}

/** Everything that is published is below it. */
function registryOf({ image }: Names): string {
  return image.slice(0, image.lastIndexOf('/') + 1);
}
