import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import { readText, repository } from '../../../harness/deploy/repository.ts';
import { ensureTools, type Tools } from '../../../harness/deploy/tools.ts';
import { runCommand } from '../../../harness/process/run-command.ts';

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly needs?: string | readonly string[];
  readonly uses?: string;
  readonly steps?: readonly { readonly uses?: string; readonly run?: string }[];
}

const FOLDER = '.github/workflows';
const FILES = readdirSync(join(repository, FOLDER)).map((name) => `${FOLDER}/${name}`);

let tools: Tools;

beforeAll(async () => {
  tools = await ensureTools();
}, 600_000);

function workflow(file: string): Workflow {
  return load(readText(file)) as Workflow;
}

function scriptsOf(file: string): string[] {
  const steps = Object.values(workflow(file).jobs).flatMap((job) => job.steps ?? []);
  return steps.flatMap(({ run }) => (run === undefined ? [] : [run]));
}

describe.each(FILES)('%s', (file) => {
  // Without shellcheck and pyflakes, which are not on every machine. It reports to its standard output.
  test('is accepted by actionlint', async () => {
    const flags = ['-shellcheck=', '-pyflakes=', join(repository, file)];
    await runCommand('sh', ['-c', 'exec "$0" "$@" >&2', tools.actionlint, ...flags]);
  });

  test('has scripts that bash can parse', async () => {
    for (const script of scriptsOf(file)) await runCommand('bash', ['-n', '-c', script]);
  });

  test('calls only scripts of the repository that exist', () => {
    const called = scriptsOf(file).flatMap((script) => {
      const names = script.matchAll(/(?:node|sh|bash) ([\w./-]+)/g);
      return [...names].map(([, name = '']) => name);
    });
    expect(called.length).toBeGreaterThan(0);
    expect(called.filter((name) => !existsSync(join(repository, name)))).toEqual([]);
  });

  // A tag of an action can be moved to other code. The comment is for people and for Dependabot.
  test('pins each action to a commit and names its release', () => {
    const uses = [...readText(file).matchAll(/uses: (?!\.\/)(.*)/g)].map(([, action]) => action);
    expect(uses.length).toBeGreaterThan(2);
    for (const action of uses) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+/);
  });

  test('has no right that its jobs do not name', () => {
    const { permissions } = workflow(file);
    expect(Object.values(permissions).filter((right) => right !== 'read')).toEqual([]);
  });
});

test('CI runs on pull requests, main and releases, and can write nothing', () => {
  const { on, permissions, jobs } = workflow(`${FOLDER}/ci.yml`);
  expect(Object.keys(on)).toEqual(['pull_request', 'push', 'workflow_call']);
  expect(permissions).toEqual({ contents: 'read' });
  expect(Object.values(jobs).every((job) => job.permissions === undefined)).toBe(true);
  expect(scriptsOf(`${FOLDER}/ci.yml`)).toContain('bash .ci/run');
});

describe('a release', () => {
  const { jobs } = workflow(`${FOLDER}/release.yml`);
  const writers = Object.entries(jobs).filter(([, job]) =>
    Object.values(job.permissions ?? {}).includes('write'),
  );

  test('is published only with the approval of a maintainer', () => {
    expect(writers.map(([name]) => name)).toEqual(['images', 'chart', 'package', 'release']);
    for (const [, job] of writers) expect(job.environment).toBe('release');
  });

  test('is published only after CI', () => {
    const ancestors = (name: string): string[] =>
      [jobs[name]?.needs ?? []].flat().flatMap((each) => [each, ...ancestors(each)]);
    for (const [name] of writers) expect(ancestors(name)).toContain('ci');
    expect(jobs.ci?.uses).toBe('./.github/workflows/ci.yml');
  });

  test('runs no npm package where it may write', () => {
    for (const [, job] of writers) {
      const scripts = (job.steps ?? []).map(({ run }) => run ?? '').join('\n');
      expect(scripts).not.toMatch(/npm (ci|install|run)|ensure-installed|npx/);
    }
  });
});
