import { chmodSync, cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../deploy/repository.ts';
import { runCommand } from '../process/run-command.ts';
import { VERSION, wrapperImage } from './images.ts';

/** Past releases: the commit, and the user of its image. */
export const PAST_RELEASES = {
  '1.0.0': { commit: 'deead377', user: 65_532 },
  '1.1.0': { commit: '4cbd9f6b', user: 10_360 },
  '1.2.0': { commit: 'c4e35826', user: 10_360 },
} as const;

export type PastVersion = keyof typeof PAST_RELEASES;

/** Tag of the image of a past release: the sources may have the version of the last one still. */
export function tagOf(version: PastVersion): string {
  return version === VERSION ? `${version}-released` : version;
}

/** A release, built from the history of this repository. */
export interface PastRelease {
  /** The sources, with their manifests. */
  readonly folder: string;
  /** Path of the tar of its image, `registry.example.net/kube-proxy-wrapper:<tag>`; see {@link tagOf}. */
  readonly image: string;
}

/**
 * Builds the program of a release in a folder, unless it is there.
 *
 * @returns the folder of its sources, with `dist/main.js`
 */
export async function buildPastProgram(version: PastVersion, folder: string): Promise<string> {
  const sources = join(folder, version);
  if (existsSync(join(sources, 'dist/main.js'))) return sources;
  mkdirSync(sources, { recursive: true });
  const { commit } = PAST_RELEASES[version];
  await runCommand('sh', ['-c', `git archive ${commit} | tar -x -C "${sources}"`], {
    cwd: repository,
  });
  const build = 'npm install --no-fund --no-audit --loglevel=error && npm run build';
  await runCommand('sh', ['-c', build], { cwd: sources });
  return sources;
}

/** @param folder where to put sources and image */
export async function buildPastRelease(version: PastVersion, folder: string): Promise<PastRelease> {
  const { user } = PAST_RELEASES[version];
  const sources = await buildPastProgram(version, folder);
  // The manifests name the image of .com and .net: the one of the init container is not renamed.
  const names = ['com', 'net'].map(
    (end) => `registry.example.${end}/kube-proxy-wrapper:${tagOf(version)}`,
  );
  const image = await wrapperImage(folder, `wrapper-${version}`, names, async (root) => {
    for (const path of ['dist', 'package.json']) {
      cpSync(join(sources, path), join(root, 'app', path), { recursive: true });
    }
    for (const name of ['kube-proxy-wrapper', 'own-state-dir']) {
      const program = join(root, 'usr/local/bin', name);
      // 1.0.0 has no own-state-dir, and does not run ours.
      if (!existsSync(join(sources, 'image', name))) continue;
      cpSync(join(sources, 'image', name), program);
      chmodSync(program, 0o755);
    }
    return { user: `${user}:${user}` };
  });
  return { folder: sources, image };
}
