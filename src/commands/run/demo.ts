import { existsSync } from 'node:fs';
import { WrapperError } from '../../errors.ts';
import type { Call } from '../command-line/command.ts';
import { textFlag, textFlags } from '../command-line/flags.ts';

/** What the demo is started with. */
export interface DemoOptions {
  /** Files with the cluster; empty: the example. */
  readonly clusters: readonly string[];
  /** The node that is shown first; undefined: the first one. */
  readonly node: string | undefined;
  /** Whether it ends by itself. */
  readonly once: boolean;
}

/** demo/run-demo.ts, which is a bundle of its own: the wrapper never loads it. */
interface DemoModule {
  runDemo(options: DemoOptions): Promise<number>;
}

/** From source, and in dist/. Not a literal in import(): the build would make it a part of this bundle. */
const FILE = import.meta.url.endsWith('.ts') ? '../../../demo/run-demo.ts' : './demo.js';

/** Executes `demo`. */
export async function executeDemo({ flags }: Call): Promise<number> {
  const file = new URL(FILE, import.meta.url);
  if (!existsSync(file)) {
    const what = 'the demo is not part of this installation, such as the container image';
    const advice = 'where Node.js 24 is installed, run npx kube-proxy-wrapper demo';
    throw new WrapperError('InvalidSettings', `${what}; ${advice}`);
  }
  const { runDemo } = (await import(file.href)) as DemoModule;
  return await runDemo({
    clusters: textFlags(flags, 'cluster'),
    node: textFlag(flags, 'node'),
    once: flags.once === true,
  });
}
