/** The bar of the demo on top of the page. */
export interface DemoBarAssets {
  readonly js: string;
  readonly css: string;
}

/** Bundles the bar from source. In dist/demo.js this module is replaced by one that contains it (scripts/build.ts). */
export async function loadDemoBar(): Promise<DemoBarAssets> {
  const { bundleForBrowser } = await import('../scripts/bundle-page.ts');
  return await bundleForBrowser('demo/page/main.tsx', 'demo/page/style.css');
}
