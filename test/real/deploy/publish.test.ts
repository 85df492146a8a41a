import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { repository } from '../../../harness/deploy/repository.ts';
import { runCommand } from '../../../harness/process/run-command.ts';
import { type Project, readProject } from '../../../scripts/release/project.ts';
import { useFolder } from '../../support/use-folder.ts';

const project: Project = readProject();
const IMAGE_DIGEST = `sha256:${'a'.repeat(64)}`;
const BASE_DIGEST = `sha256:${'c'.repeat(64)}`;
const CHART_DIGEST = `sha256:${'b'.repeat(64)}`;

/** What the tools answer, as far as the scripts read it. Each also writes its command line to $CALLS. */
const STUBS: Readonly<Record<string, string>> = {
  docker: `if [ "$2" = imagetools ]; then echo "${BASE_DIGEST}"; exit; fi
while [ "$1" != --metadata-file ]; do shift; done
echo '{"containerimage.digest":"${IMAGE_DIGEST}"}' > "$2"`,
  // To its standard error output, as Helm 3 does.
  helm: `echo 'Pushed: ghcr.io/x:1' >&2; echo 'Digest: ${CHART_DIGEST}' >&2`,
  cosign: '',
  npm: '',
};

let folder: string;
let outputs: string;

beforeAll(() => {
  folder = useFolder();
  mkdirSync(join(folder, 'bin'));
  outputs = join(folder, 'outputs');
  for (const name of Object.keys(STUBS)) stub(name, STUBS[name] ?? '');
});

beforeEach(() => {
  for (const name of ['calls', 'outputs']) writeFileSync(join(folder, name), '');
});

function stub(name: string, script: string): void {
  const path = join(folder, 'bin', name);
  writeFileSync(path, `#!/bin/sh\necho "${name} $*" >> "$CALLS"\n${script}\n`);
  chmodSync(path, 0o755);
}

/** Runs a script with the stubs first in the path; returns the command lines that it called. */
async function publish(name: string): Promise<string[]> {
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    CALLS: join(folder, 'calls'),
    GITHUB_OUTPUT: outputs,
    HELM: 'helm',
  };
  const script = join(repository, 'scripts/release', `publish-${name}.ts`);
  await runCommand(process.execPath, [script, folder], { env });
  return readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');
}

function buildsOf(calls: readonly string[]): string[] {
  return calls.filter((call) => call.startsWith('docker buildx build '));
}

describe('the image', () => {
  test('is built for both architectures with SBOM and provenance, and pushed by version', async () => {
    const [build] = buildsOf(await publish('image'));
    expect(build).toContain('--platform linux/amd64,linux/arm64 --provenance=mode=max --sbom=true');
    expect(build).toContain(`--tag ${project.image}:${project.version} `);
    expect(build).toMatch(/--build-arg REVISION=[0-9a-f]{40} /);
  });

  // A tag can move while it is built.
  test('starts from images that are named by their digests', async () => {
    const [build] = buildsOf(await publish('image'));
    const distroless = `gcr.io/distroless/nodejs24-debian13:nonroot@${BASE_DIGEST} `;
    expect(build).toContain(`--build-arg BUILD_IMAGE=node:24-trixie-slim@${BASE_DIGEST} `);
    expect(build).toContain(`--build-arg BASE_IMAGE=${distroless}`);
  });

  // A tag can move between push and signature.
  test('is signed by digest with the SBOM of the bundle, and named for the provenance', async () => {
    const calls = (await publish('image')).filter((call) => call.startsWith('cosign '));
    const bom = join(folder, `${project.name}-${project.version}.cdx.json`);
    expect(calls).toEqual([
      `cosign sign --yes ${project.image}@${IMAGE_DIGEST}`,
      `cosign attest --yes --type cyclonedx --predicate ${bom} ${project.image}@${IMAGE_DIGEST}`,
    ]);
    expect(readFileSync(outputs, 'utf8').trim().split('\n')).toEqual([
      `image_name=${project.image}`,
      `image_digest=${IMAGE_DIGEST}`,
    ]);
  });

  test('is not signed if the build fails or has no digest', async () => {
    const signs = async (): Promise<boolean> => {
      await expect(publish('image')).rejects.toThrow('ended with 1');
      return readFileSync(join(folder, 'calls'), 'utf8').includes('cosign');
    };
    try {
      stub('docker', 'exit 3');
      expect(await signs()).toBe(false);
      for (const digest of [/a{64}/, /c{64}/]) {
        stub('docker', `${STUBS.docker?.replace(digest, 'abc')}`);
        expect(await signs()).toBe(false);
      }
    } finally {
      stub('docker', STUBS.docker ?? '');
    }
  });
});

test('the chart is pushed as an OCI artifact and signed by its digest', async () => {
  const { name, version, charts } = project;
  expect(await publish('chart')).toEqual([
    `helm push ${folder}/${name}-chart-${version}.tgz oci://${charts}`,
    `cosign sign --yes ${charts}/${name}@${CHART_DIGEST}`,
  ]);
  expect(readFileSync(outputs, 'utf8')).toBe(
    `chart_name=${charts}/${name}\nchart_digest=${CHART_DIGEST}\n`,
  );
});

test('the npm package is published with provenance, and a pre-release is not the latest', async () => {
  const { name, version } = project;
  const tag = version.includes('-') ? 'next' : 'latest';
  expect(await publish('package')).toEqual([
    `npm publish ${folder}/${name}-${version}.tgz --provenance --access public --tag ${tag}`,
  ]);
});
