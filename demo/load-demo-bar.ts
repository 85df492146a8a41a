import { readBuiltFile } from '../src/built-file.ts';

/** The bar of the demo on top of the page. */
export interface DemoBarAssets {
  readonly js: string;
  readonly css: string;
}

/** Reads the bar. Rejects if it is not built. */
export function loadDemoBar(): Promise<DemoBarAssets> {
  return readBuiltFile<DemoBarAssets>('demo-bar.json');
}
