import { existsSync } from 'node:fs';
import { WrapperError } from '../../src/errors.ts';
import type { Call, Result } from '../command-line/command.ts';

/** What the demo is started with. */
export interface DemoFlags {
  /** Files with the cluster; absent: the example. */
  readonly cluster?: readonly string[];
  /** The node that is shown first; absent: the first one. */
  readonly node?: string;
  /** Whether it ends by itself. */
  readonly once?: boolean;
}

/** demo/run-demo.ts, which is a bundle of its own: the wrapper never loads it. */
interface DemoModule {
  runDemo(flags: DemoFlags): Promise<number>;
}

/** From source, and in dist/. Not a literal in import(): the build would make it a part of this bundle. */
const FILE = import.meta.url.endsWith('.ts') ? '../../demo/run-demo.ts' : './demo.js';

/** Executes `demo`. */
export async function executeDemo({ flags }: Call<DemoFlags>): Promise<Result> {
  const file = new URL(FILE, import.meta.url);
  if (!existsSync(file)) {
    const what = 'the demo is not part of this installation, such as the container image';
    const advice = 'where Node.js 24 is installed, run npx kube-proxy-wrapper demo';
    throw new WrapperError('InvalidSettings', `${what}; ${advice}`);
  }
  const { runDemo } = (await import(file.href)) as DemoModule;
  return { code: await runDemo(flags) };
}
