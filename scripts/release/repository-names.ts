import type { Project } from './project.ts';

type Names = Pick<Project, 'slug' | 'registry'>;

/**
 * Replaces the names of a repository by those of another one: its address, its images and its charts. Runbooks of
 * alerts become links.
 */
export function replaceRepository(text: string, from: Names, to: Names): string {
  return (
    text
      .replaceAll(`${from.registry}/`, `${to.registry}/`)
      .replaceAll(`--repo ${from.slug}`, `--repo ${to.slug}`)
      .replaceAll(`github.com/${from.slug}`, `github.com/${to.slug}`)
      // Alerts name a file as long as there is no address that leads to it.
      .replaceAll('runbook: docs/', `runbook_url: https://github.com/${to.slug}/blob/main/docs/`)
  );
}
