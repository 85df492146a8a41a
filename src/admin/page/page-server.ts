import type { ServerResponse } from 'node:http';
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

const FILES: Readonly<Record<string, readonly [file: keyof PageAssets, type: string]>> = {
  '/': ['html', 'text/html; charset=utf-8'],
  '/page.js': ['js', 'text/javascript; charset=utf-8'],
  '/page.css': ['css', 'text/css; charset=utf-8'],
  '/icon.svg': ['icon', 'image/svg+xml'],
};

/** Serves the files of the page. */
export interface PageServer {
  /** Whether a path is a file of the page. */
  hasFile(path: string): boolean;
  /** Sends a file of the page. */
  sendFile(path: string, response: ServerResponse): Promise<void>;
}

export function createPageServer(logger: Logger): PageServer {
  return {
    hasFile: (path) => Object.hasOwn(FILES, path),
    async sendFile(path, response) {
      const [name, type] = FILES[path] as (typeof FILES)[string];
      try {
        const { [name]: content } = await loadPageAssets();
        response.writeHead(200, { ...PAGE_HEADERS, 'content-type': type }).end(content);
      } catch (error) {
        const problem = 'the page is not built; run npm run build, then start the wrapper again';
        logger.warn({ err: error }, problem);
        const headers = { ...PAGE_HEADERS, 'content-type': 'text/plain; charset=utf-8' };
        response.writeHead(503, headers).end(`${problem}\n`);
      }
    },
  };
}
