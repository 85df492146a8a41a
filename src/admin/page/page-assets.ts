import { readBuiltFile } from '../../built-file.ts';

/** The files of the page. */
export interface PageAssets {
  readonly html: string;
  readonly js: string;
  readonly css: string;
  readonly icon: string;
}

let assets: Promise<PageAssets> | undefined;

/** Reads the files of the page, once. Rejects if the page is not built. */
export function loadPageAssets(): Promise<PageAssets> {
  assets ??= readBuiltFile<PageAssets>('page.json');
  return assets;
}
