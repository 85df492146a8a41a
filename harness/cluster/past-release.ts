import { chmodSync, cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../deploy/repository.ts';
import { runCommand } from '../process/run-command.ts';
import { wrapperImage } from './images.ts';

/** The commit of release 1.0.0. */
const COMMIT = 'deead377';

/** The release 1.0.0, built from the history of this repository. */
export interface Release {
  /** The sources, with their manifests. */
  readonly folder: string;
  /** Path of the tar of its image, `registry.example.net/kube-proxy-wrapper:1.0.0`. */
  readonly image: string;
}

/** @param folder where to put sources and image */
export async function buildRelease10(folder: string): Promise<Release> {
  const sources = join(folder, '1.0.0');
  mkdirSync(sources, { recursive: true });
  await runCommand('sh', ['-c', `git archive ${COMMIT} | tar -x -C "${sources}"`], {
    cwd: repository,
  });
  const build = 'npm install --no-fund --no-audit --loglevel=error && npm run build';
  await runCommand('sh', ['-c', build], { cwd: sources });
  // The manifests name the image of .com and .net: the one of the init container is not renamed.
  const names = ['com', 'net'].map((end) => `registry.example.${end}/kube-proxy-wrapper:1.0.0`);
  const image = await wrapperImage(folder, 'old', names, async (root) => {
    for (const file of ['dist/main.js', 'package.json']) {
      cpSync(join(sources, file), join(root, 'app', file));
    }
    const program = join(root, 'usr/local/bin/kube-proxy-wrapper');
    cpSync(join(sources, 'image/kube-proxy-wrapper'), program);
    chmodSync(program, 0o755);
    return { user: '65532:65532' };
  });
  return { folder: sources, image };
}
