import type { PageAssets } from './page-assets.ts';

let assets: Promise<PageAssets> | undefined;

/**
 * The page's files. In dist/main.js, this module is replaced by one that holds them (scripts/build.ts). Run from
 * source, they are made at the first request. Rejects where the packages for development are missing.
 */
export function loadPageAssets(): Promise<PageAssets> {
  assets ??= import('../../../scripts/bundle-page.ts').then(({ bundlePage }) => bundlePage());
  return assets;
}
