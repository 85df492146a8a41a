/** The files of the page. */
export interface PageAssets {
  readonly html: string;
  readonly js: string;
  readonly css: string;
  readonly icon: string;
}
