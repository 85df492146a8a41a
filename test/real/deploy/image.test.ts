import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import type { KubeObject } from '../../../harness/api-server/api.ts';
import { writeKubeconfig } from '../../../harness/api-server/kubeconfig.ts';
import { type Image, lastStage, layOutImage } from '../../../harness/deploy/image.ts';
import { runWithChownAlone } from '../../../harness/deploy/init-container.ts';
import { writeAside } from '../../../harness/deploy/overlay.ts';
import { readText, repository } from '../../../harness/deploy/repository.ts';
import { ensureTools, type Tools } from '../../../harness/deploy/tools.ts';
import { createNodeNetns } from '../../../harness/network/node-netns.ts';
import { startWrapper } from '../../../harness/node/wrapper.ts';
import { waitUntilReady } from '../../../harness/process/managed-process.ts';
import { runCommand } from '../../../harness/process/run-command.ts';
import { useFolder } from '../../support/use-folder.ts';

let tools: Tools;
let folder: string;
let image: Image;

beforeAll(async () => {
  tools = await ensureTools();
  folder = useFolder();
  chmodSync(folder, 0o755);
  image = layOutImage(join(folder, 'root'));
}, 600_000);

/** Files and folders that the Dockerfile takes from the context. */
function copiedSources(): string[] {
  const copies = readText('image/Dockerfile').matchAll(/^COPY (?!.*--from)(?:--\S+ )*(.+) \S+$/gm);
  return [...copies].flatMap(([, names = '']) => names.split(' '));
}

describe('the Dockerfile', () => {
  // The page had the command of before the file was moved.
  test('is the one that the page for an installation builds', () => {
    const [, file = ''] =
      /docker buildx build .*? -f (\S+)/s.exec(readText('docs/deployment.md')) ?? [];
    expect(readText(file)).toContain('ENTRYPOINT');
  });

  test('is accepted by BuildKit without a warning', async () => {
    const read = async (text: string) =>
      await writeAside({ text }, async (file) => await runCommand(tools.dockerfile, [file]));
    const text = readText('image/Dockerfile');
    expect(await read(text)).toContain('{BASE_IMAGE}');
    await expect(read(text.replace('COPY --chmod=', 'COPY --mode='))).rejects.toThrow('mode');
    await expect(read(text.replace('HEALTHCHECK ', 'HEALTHY '))).rejects.toThrow('HEALTHY');
  });

  test('copies nothing that .dockerignore excludes', () => {
    const allowed = readText('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    const sources = copiedSources();
    expect(sources).toContain('src');
    for (const source of sources) {
      expect(existsSync(join(repository, source))).toBe(true);
      expect(allowed).toContain(source.split('/')[0]);
    }
  });

  test('copies all that its build needs', async () => {
    const context = join(folder, 'context');
    for (const source of copiedSources()) {
      cpSync(join(repository, source), join(context, source), { recursive: true });
    }
    symlinkSync(join(repository, 'node_modules'), join(context, 'node_modules'));
    const [command = '', ...args] =
      /^RUN (npm run .*)$/m.exec(readText('image/Dockerfile'))?.[1]?.split(' ') ?? [];
    await runCommand(command, args, { cwd: context });
    const built = readdirSync(join(context, 'dist'));
    expect(built).toEqual(expect.arrayContaining(['THIRD-PARTY-LICENSES', 'main.js']));
    const { version } = JSON.parse(readText('package.json')) as { version: string };
    const said = await runCommand('node', ['dist/main.js', '--version'], { cwd: context });
    expect(said.trim()).toBe(version);
  });

  test('names its user by number, so that kubelet can tell that it is not root; one that no other image has', () => {
    expect(image.user).toEqual({ uid: 10_360, gid: 10_360 });
    const { spec } = load(readText('manifests/base/daemonset.yaml')) as KubeObject;
    expect(spec.template.spec.securityContext).toMatchObject({
      runAsUser: image.user.uid,
      runAsGroup: image.user.gid,
    });
  });

  test('leaves the health check to a program that the image has', () => {
    expect(image.healthcheck[0]).toBe('/nodejs/bin/node');
    expect(lastStage(readText('image/Dockerfile')).map(({ name }) => name)).not.toContain('RUN');
  });
});

describe('the image, laid out in a folder', () => {
  test('holds the program and nothing of tests, sources or development', () => {
    const files = readdirSync(join(image.root, 'app')).sort();
    expect(files).toEqual(['LICENSE', 'dist', 'package.json']);
    const built = readdirSync(join(image.root, 'app/dist')).sort();
    expect(built).toEqual(expect.arrayContaining(['THIRD-PARTY-LICENSES', 'main.js', 'page.json']));
    // Here dist/ has the demo too, which the Dockerfile leaves out.
    const known = /^THIRD-PARTY-LICENSES$|^(page|demo-bar)\.json$|\.js$/;
    for (const name of built) expect(name).toMatch(known);
  });

  test('has files that every user can read', () => {
    expect(statSync(join(image.root, 'app/dist/main.js')).mode & 0o004).toBe(0o004);
    expect(statSync(join(image.root, 'usr/local/bin/kube-proxy-wrapper')).mode & 0o777).toBe(0o555);
  });
});

describe('own-state-dir', () => {
  const state = () => join(folder, 'state-of-the-node');
  const inIt = () => join(state(), 'state/services.snapshot');

  beforeEach(() => mkdirSync(state()));
  afterEach(() => rmSync(state(), { recursive: true }));

  /** As the wrapper leaves it: folder 0700, files 0600. */
  function writeState(): void {
    mkdirSync(join(state(), 'state'), { mode: 0o700 });
    writeFileSync(inIt(), 'a', { mode: 0o600 });
    writeFileSync(join(state(), 'tls.pem'), 'b', { mode: 0o600 });
  }

  function giveAll(owner: number): void {
    for (const name of ['', ...readdirSync(state(), { recursive: true })]) {
      chownSync(join(state(), String(name)), owner, owner);
    }
  }

  const give = async () =>
    await runWithChownAlone(image, ['/usr/local/bin/own-state-dir', state()]);

  function owners(): Set<number> {
    const names = ['', ...readdirSync(state(), { recursive: true })];
    const found = names.map((name) => statSync(join(state(), String(name))));
    return new Set(found.flatMap(({ uid, gid }) => [uid, gid]));
  }

  test('gives the user the folder that kubelet has just made', async () => {
    await give();
    expect(owners()).toEqual(new Set([image.user.uid]));
  });

  // Root without DAC_OVERRIDE may not look into the folder of another user.
  test.each([65_532, 0])('gives it all files that the user %d has left there', async (owner) => {
    writeState();
    giveAll(owner);
    await give();
    expect(owners()).toEqual(new Set([image.user.uid]));
    expect(readFileSync(inIt(), 'utf8')).toBe('a');
  });

  test('continues where it was interrupted', async () => {
    writeState();
    giveAll(65_532);
    for (const path of [state(), join(state(), 'state')]) chownSync(path, 0, 0);
    chownSync(inIt(), image.user.uid, image.user.gid);
    await give();
    expect(owners()).toEqual(new Set([image.user.uid]));
  });

  test('leaves alone what the user has already', async () => {
    writeState();
    giveAll(image.user.uid);
    const before = statSync(join(state(), 'state')).ctimeMs;
    await give();
    expect(statSync(join(state(), 'state')).ctimeMs).toBe(before);
  });

  test('follows no link', async () => {
    const elsewhere = join(folder, 'elsewhere');
    writeFileSync(elsewhere, '');
    symlinkSync(elsewhere, join(state(), 'link'));
    await give();
    expect(statSync(elsewhere).uid).toBe(process.getuid?.());
  });
});

test('the health check fails until the program listens, and then succeeds, also with no API server to be reached', async () => {
  const netns = await createNodeNetns();
  const [, ...args] = image.healthcheck;
  const healthcheck = async () => await netns.exec(process.execPath, args);
  try {
    await expect(healthcheck()).rejects.toThrow('ended with 1');
    // Nobody listens there: a node that starts while it is cut off.
    const kubeconfig = join(folder, 'kubeconfig');
    writeKubeconfig(kubeconfig, { server: 'https://127.0.0.1:1', token: 'none' });
    const program = join(image.root, 'app/dist/main.js');
    const wrapper = await startWrapper({ netns, nodeName: 'a', kubeconfig, program, wait: false });
    try {
      const healthy = async () => await netns.httpGet(`${wrapper.adminUrl}/healthz`);
      await waitUntilReady(wrapper, async () => (await healthy())?.status === 200);
      await healthcheck();
      expect((await netns.httpGet(`${wrapper.adminUrl}/readyz`))?.status).toBe(503);
    } finally {
      await wrapper.stop('SIGKILL');
    }
  } finally {
    await netns.stop();
  }
});
