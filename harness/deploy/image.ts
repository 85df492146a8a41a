import { chmodSync, cpSync, globSync, mkdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readText, repository } from './repository.ts';

/** The instructions of the Dockerfile's last stage that matter to a container. */
export interface Image {
  /** Folder that holds the image's files as `/`. */
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly workdir: string;
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly healthcheck: readonly string[];
}

/** An instruction, with continued lines joined. */
interface Instruction {
  readonly name: string;
  readonly text: string;
}

/**
 * Does what `docker build` does with the last stage, without a registry: copies the same files to the same places in
 * a folder. What it would copy from the stage that builds is here already: `npm run build` has run.
 */
export function layOutImage(root: string): Image {
  const stage = lastStage(readText('image/Dockerfile'));
  mkdirSync(root, { recursive: true });
  for (const { text } of stage.filter(({ name }) => name === 'COPY')) copy(root, text);
  const [uid = 0, gid = 0] = argument(stage, 'USER').split(':').map(Number);
  return {
    root,
    env: environment(stage),
    user: { uid, gid },
    workdir: argument(stage, 'WORKDIR'),
    entrypoint: list(argument(stage, 'ENTRYPOINT')),
    cmd: list(argument(stage, 'CMD')),
    healthcheck: list(argument(stage, 'HEALTHCHECK').replace(/^.*?CMD /, '')),
  };
}

/** Instructions of the last stage. */
export function lastStage(dockerfile: string): Instruction[] {
  const lines = dockerfile
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  const instructions = lines.map((line) => {
    const [name = '', ...rest] = line.trim().split(/\s+/);
    return { name, text: rest.join(' ') };
  });
  const start = instructions.findLastIndex(({ name }) => name === 'FROM');
  return instructions.slice(start + 1);
}

function argument(stage: readonly Instruction[], name: string): string {
  const found = stage.findLast((each) => each.name === name);
  if (found === undefined) throw new Error(`the Dockerfile's last stage has no ${name}`);
  return found.text;
}

function list(text: string): string[] {
  return JSON.parse(text) as string[];
}

function environment(stage: readonly Instruction[]): Record<string, string> {
  const pairs = stage
    .filter(({ name }) => name === 'ENV')
    .flatMap(({ text }) => text.split(' '))
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
  return Object.fromEntries(pairs) as Record<string, string>;
}

function copy(root: string, text: string): void {
  const words = text.split(' ');
  const paths = words.filter((word) => !word.startsWith('--'));
  const target = paths.pop() ?? '';
  const mode = words.find((word) => word.startsWith('--chmod='))?.slice('--chmod='.length);
  for (const source of paths) {
    for (const from of globSync(source.replace(/^\/src\//, ''), { cwd: repository })) {
      // A target that ends in a slash is a folder.
      const to = join(root, target.endsWith('/') ? join(target, basename(from)) : target);
      mkdirSync(dirname(to), { recursive: true });
      cpSync(join(repository, from), to, { recursive: true });
      if (mode !== undefined) chmodSync(to, Number.parseInt(mode, 8));
    }
  }
}
