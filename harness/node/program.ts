import { resolve } from 'node:path';

/**
 * The wrapper that is tested: `$KPW_PROGRAM`, such as `dist/main.js`, which is what users get; by default the
 * sources, for which nothing has to be built.
 */
export const PROGRAM = resolve(
  process.env.KPW_PROGRAM ?? resolve(import.meta.dirname, '../../cli/main.ts'),
);
