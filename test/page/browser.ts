import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** A tab, and what went wrong in it. */
export interface Tab {
  readonly page: Page;
  /** Messages of the console but for those of level log, uncaught errors, violations of the policy. */
  readonly problems: string[];
  /** Requests to another origin than the page's own. */
  readonly foreign: string[];
  close(): Promise<void>;
}

/** Starts Debian's Chromium, without a screen. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.KPW_CHROMIUM ?? '/usr/bin/chromium',
    // As root, as in a container, it has no sandbox; it opens pages of our own only.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
}

/** Opens a page in a context of its own. */
export async function openTab(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Tab> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, ...options });
  const page = await context.newPage();
  const problems: string[] = [];
  const foreign: string[] = [];
  page.on('console', (message) => {
    if (message.type() !== 'log') problems.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  const { origin } = new URL(url);
  page.on('request', (request) => {
    const to = new URL(request.url());
    if (to.origin !== origin && to.protocol !== 'data:') foreign.push(request.url());
  });
  await page.goto(url);
  return { page, problems, foreign, close: () => context.close() };
}
