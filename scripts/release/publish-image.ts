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

const wrapper = buildAndSign('image', project.image, [
  ...['--build-arg', `VERSION=${project.version}`, '--build-arg', `REVISION=${revision}`],
]);
// BuildKit's own SBOM has the packages of the base image. It cannot look into the bundle.
const bom = join(folder, `${project.name}-${project.version}.cdx.json`);
run('cosign', 'attest', '--yes', '--type', 'cyclonedx', '--predicate', bom, wrapper);
buildAndSign('check_image', project.checkImage, [
  ...['--file', 'image/check.Dockerfile', '--build-arg', `WRAPPER_IMAGE=${wrapper}`],
]);

/** Returns the image by its digest: a tag can move between push and signature. */
function buildAndSign(output: string, image: string, args: readonly string[]): string {
  const metadata = join(folder, `${output}.json`);
  const attestations = ['--provenance=mode=max', '--sbom=true'];
  const what = ['--platform', 'linux/amd64,linux/arm64', ...attestations, ...args];
  const where = ['--tag', `${image}:${project.version}`, '--metadata-file', metadata, '--push'];
  run('docker', 'buildx', 'build', ...what, ...where, '.');
  const digest = JSON.parse(readFileSync(metadata, 'utf8'))['containerimage.digest'];
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`${metadata} has no digest`);
  run('cosign', 'sign', '--yes', `${image}@${digest}`);
  const file = process.env.GITHUB_OUTPUT;
  if (file) appendFileSync(file, `${output}_name=${image}\n${output}_digest=${digest}\n`);
  return `${image}@${digest}`;
}
