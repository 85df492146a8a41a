import type { PageAssets } from './page-assets.ts';

let assets: Promise<PageAssets> | undefined;

/**
 * Loads the files of the page. In dist/ this module is replaced by one that contains them (scripts/build.ts).
 * From source, the first call bundles them. Rejects if the development packages are not installed.
 */
export function loadPageAssets(): Promise<PageAssets> {
  assets ??= import('../../../scripts/bundle-page.ts').then(({ bundlePage }) => bundlePage());
  return assets;
}
