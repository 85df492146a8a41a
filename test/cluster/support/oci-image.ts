import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { runCommand } from '../../e2e/support/run-command.ts';

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

const MEDIA = 'application/vnd.oci.image';

/**
 * Writes an OCI image layout as one tar, which `ctr images import` reads: one layer, no registry. See
 * https://github.com/opencontainers/image-spec/blob/main/image-layout.md
 */
export async function writeImage(path: string, options: ImageOptions): Promise<void> {
  const layout = `${path}.layout`;
  mkdirSync(join(layout, 'blobs/sha256'), { recursive: true });
  const layer = await addLayer(layout, options.root);
  const config = addJson(layout, imageConfig(options, layer.digest));
  const manifest = addJson(layout, {
    schemaVersion: 2,
    mediaType: `${MEDIA}.manifest.v1+json`,
    config: { mediaType: `${MEDIA}.config.v1+json`, ...config },
    layers: [{ mediaType: `${MEDIA}.layer.v1.tar`, ...layer }],
  });
  const manifests = options.names.map((name) => ({
    mediaType: `${MEDIA}.manifest.v1+json`,
    ...manifest,
    annotations: { 'io.containerd.image.name': name },
  }));
  writeFileSync(join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests }));
  writeFileSync(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  await runCommand('tar', ['-C', layout, '-cf', path, 'oci-layout', 'index.json', 'blobs']);
  rmSync(layout, { recursive: true });
}

interface Blob {
  readonly digest: string;
  readonly size: number;
}

async function addLayer(layout: string, root: string): Promise<Blob> {
  const aside = join(layout, 'layer.tar');
  // Owners and times of this machine do not belong into an image.
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
  await runCommand('tar', ['-C', root, ...same, '-cf', aside, '.']);
  const hash = createHash('sha256');
  await pipeline(createReadStream(aside), hash);
  const hex = hash.digest('hex');
  const { size } = statSync(aside);
  renameSync(aside, join(layout, 'blobs/sha256', hex));
  return { digest: `sha256:${hex}`, size };
}

function addJson(layout: string, value: unknown): Blob {
  const text = JSON.stringify(value);
  const hex = createHash('sha256').update(text).digest('hex');
  writeFileSync(join(layout, 'blobs/sha256', hex), text);
  return { digest: `sha256:${hex}`, size: Buffer.byteLength(text) };
}

function imageConfig(options: ImageOptions, layerDigest: string): unknown {
  const { entrypoint, cmd = [], env = {}, user = '0:0', workdir = '/' } = options;
  return {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: {
      Entrypoint: entrypoint,
      Cmd: cmd,
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      User: user,
      WorkingDir: workdir,
    },
    rootfs: { type: 'layers', diff_ids: [layerDigest] },
  };
}
