/**
 * Builds, pushes and signs the image, and attaches the SBOM of the bundle:
 *
 *   node scripts/release/publish-image.ts .tmp/release
 *
 * Needs docker with buildx, cosign, and a login to ghcr.io. The folder is that of pack.ts. Its name and
 * digest go to $GITHUB_OUTPUT.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ROOT, readProject } from './project.ts';
import { run } from './run.ts';

const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('usage: node scripts/release/publish-image.ts FOLDER');
const folder = resolve(target);
const project = readProject();
const revision = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();

const metadata = join(folder, 'image.json');
const buildArgs = [
  ...pinnedImages('image/Dockerfile'),
  `VERSION=${project.version}`,
  `REVISION=${revision}`,
].flatMap((value) => ['--build-arg', value]);
const attestations = ['--provenance=mode=max', '--sbom=true'];
const platforms = ['--platform', 'linux/amd64,linux/arm64'];
const labels = ['--label', `org.opencontainers.image.source=${project.repository}`];
const what = [...platforms, ...attestations, '--file', 'image/Dockerfile', ...labels, ...buildArgs];
const tag = `${project.image}:${project.version}`;
const where = ['--tag', tag, '--metadata-file', metadata, '--push'];
run('docker', 'buildx', 'build', ...what, ...where, '.');
const digest = asDigest(
  JSON.parse(readFileSync(metadata, 'utf8'))['containerimage.digest'],
  metadata,
);
// By its digest: a tag can move between push and signature.
const image = `${project.image}@${digest}`;
run('cosign', 'sign', '--yes', image);
// BuildKit's own SBOM has the packages of the base image. It cannot look into the bundle.
const bom = join(folder, `${project.name}-${project.version}.cdx.json`);
run('cosign', 'attest', '--yes', '--type', 'cyclonedx', '--predicate', bom, image);
const file = process.env.GITHUB_OUTPUT;
if (file) appendFileSync(file, `image_name=${project.image}\nimage_digest=${digest}\n`);

/**
 * The images that a Dockerfile starts from, as build arguments, by digest: both architectures use the same ones
 * although a tag may move meanwhile, and the signed provenance names them.
 */
function pinnedImages(dockerfile: string): string[] {
  const text = readFileSync(join(ROOT, dockerfile), 'utf8');
  return Array.from(
    text.matchAll(/^ARG (\w+_IMAGE)=(\S+)$/gm),
    ([, name = '', tag = '']) => `${name}=${tag}@${digestOf(tag)}`,
  );
}

function digestOf(tag: string): string {
  const inspect = ['buildx', 'imagetools', 'inspect', tag, '--format', '{{.Manifest.Digest}}'];
  return asDigest(execFileSync('docker', inspect, { encoding: 'utf8' }).trim(), tag);
}

function asDigest(text: unknown, what: string): string {
  if (typeof text === 'string' && /^sha256:[0-9a-f]{64}$/.test(text)) return text;
  throw new Error(`${what} has no digest`);
}
