import type { Logger } from 'pino';
import { loadPageAssets, type PageAssets } from './page-assets.ts';

/**
 * Headers that restrict what a browser does with the page. It runs only the script and style of the page, and sends
 * requests only to this port. No other page can frame it, and links do not send a referrer.
 */
export const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache',
} as const;

const FILES: readonly (readonly [path: string, file: keyof PageAssets, type: string])[] = [
  ['/', 'html', 'text/html; charset=utf-8'],
  ['/page.js', 'js', 'text/javascript; charset=utf-8'],
  ['/page.css', 'css', 'text/css; charset=utf-8'],
  ['/icon.svg', 'icon', 'image/svg+xml'],
];

/** What answers with the files of the page, by path. */
export function pageRoutes(logger: Logger) {
  return FILES.map(([path, file, type]) => {
    return [path, () => answerWith(file, type, logger)] as const;
  });
}

async function answerWith(file: keyof PageAssets, type: string, logger: Logger) {
  const headers = { ...PAGE_HEADERS, 'content-type': type };
  try {
    const assets = await loadPageAssets();
    return { headers, body: assets[file] };
  } catch (error) {
    const problem = 'the page is not built; run npm run build, then start the wrapper again';
    logger.warn({ err: error }, problem);
    headers['content-type'] = 'text/plain; charset=utf-8';
    return { code: 503, headers, body: `${problem}\n` };
  }
}
