/**
 * Builds, pushes and signs both images, and attaches the SBOM of the bundle:
 *
 *   node scripts/release/publish-image.ts .tmp/release
 *
 * Needs docker with buildx and QEMU, cosign, and a login to ghcr.io. The folder is that of pack.ts. Names and digests of
 * the images go to $GITHUB_OUTPUT.
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

/** By tag. Both images start from the same ones, although a tag may move meanwhile. */
const digests = new Map<string, string>();

const wrapper = buildAndSign('image', project.image, 'Dockerfile', {
  VERSION: project.version,
  REVISION: revision,
});
// BuildKit's own SBOM has the packages of the base image. It cannot look into the bundle.
const bom = join(folder, `${project.name}-${project.version}.cdx.json`);
run('cosign', 'attest', '--yes', '--type', 'cyclonedx', '--predicate', bom, wrapper);
buildAndSign('check_image', project.checkImage, 'image/check.Dockerfile', {
  WRAPPER_IMAGE: wrapper,
});

/** Returns the image by its digest: a tag can move between push and signature. */
function buildAndSign(
  output: string,
  image: string,
  dockerfile: string,
  values: Readonly<Record<string, string>>,
): string {
  const metadata = join(folder, `${output}.json`);
  const buildArgs = Object.entries({ ...pinnedImages(dockerfile, values), ...values });
  const args = buildArgs.flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
  const attestations = ['--provenance=mode=max', '--sbom=true'];
  const platforms = ['--platform', 'linux/amd64,linux/arm64'];
  const what = [...platforms, ...attestations, '--file', dockerfile, ...args];
  const where = ['--tag', `${image}:${project.version}`, '--metadata-file', metadata, '--push'];
  run('docker', 'buildx', 'build', ...what, ...where, '.');
  const built = JSON.parse(readFileSync(metadata, 'utf8'));
  const digest = asDigest(built['containerimage.digest'], metadata);
  run('cosign', 'sign', '--yes', `${image}@${digest}`);
  const file = process.env.GITHUB_OUTPUT;
  if (file) appendFileSync(file, `${output}_name=${image}\n${output}_digest=${digest}\n`);
  return `${image}@${digest}`;
}

/**
 * The images that a Dockerfile starts from, by digest, so that both architectures and all stages use the same ones. The
 * signed provenance names them. Those in `values` are chosen already.
 */
function pinnedImages(
  dockerfile: string,
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  const text = readFileSync(join(ROOT, dockerfile), 'utf8');
  const defaults = [...text.matchAll(/^ARG (\w+_IMAGE)=(\S+)$/gm)].map(
    ([, name = '', tag = '']) => [name, tag] as const,
  );
  const open = defaults.filter(([name]) => !(name in values));
  return Object.fromEntries(open.map(([name, tag]) => [name, `${tag}@${digestOf(tag)}`]));
}

function digestOf(tag: string): string {
  const known = digests.get(tag);
  if (known !== undefined) return known;
  const inspect = ['buildx', 'imagetools', 'inspect', tag, '--format', '{{.Manifest.Digest}}'];
  const digest = asDigest(execFileSync('docker', inspect, { encoding: 'utf8' }).trim(), tag);
  digests.set(tag, digest);
  return digest;
}

function asDigest(text: unknown, what: string): string {
  if (typeof text === 'string' && /^sha256:[0-9a-f]{64}$/.test(text)) return text;
  throw new Error(`${what} has no digest`);
}
