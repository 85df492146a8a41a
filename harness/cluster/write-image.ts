import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../process/run-command.ts';

/** A folder that becomes an image. */
export interface ImageOptions {
  /** Names with host part and tag, such as `docker.io/local/pod:1`: ctr imports it under each. */
  readonly names: readonly string[];
  /** Folder of its files. */
  readonly root: string;
  readonly entrypoint: readonly string[];
  readonly cmd?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** `uid:gid`. Default: root. */
  readonly user?: string;
  readonly workdir?: string;
}

/** Writes an image of one layer as one tar, as `docker save` does. `ctr images import` reads it. */
export async function writeImage(path: string, options: ImageOptions): Promise<void> {
  const { names, root, entrypoint, cmd = [], env = {}, user = '0:0', workdir = '/' } = options;
  const folder = `${path}.parts`;
  mkdirSync(folder);
  const layer = join(folder, 'layer.tar');
  // Owners and times of this machine do not belong into an image.
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
  await runCommand('tar', ['-C', root, ...same, '-cf', layer, '.']);
  const [digest] = (await runCommand('sha256sum', [layer])).split(' ');
  const config = {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: {
      Entrypoint: entrypoint,
      Cmd: cmd,
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      User: user,
      WorkingDir: workdir,
    },
    rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
  };
  const manifest = [{ Config: 'config.json', RepoTags: names, Layers: ['layer.tar'] }];
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
  await runCommand('tar', ['-C', folder, '-cf', path, 'manifest.json', 'config.json', 'layer.tar']);
  rmSync(folder, { recursive: true });
}
