import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** A browser tab and its errors. */
export interface Tab {
  readonly page: Page;
  /** Console messages except level log, uncaught errors, and violations of the policy (CSP). */
  readonly problems: string[];
  /** Requests to other origins. */
  readonly foreign: string[];
  close(): Promise<void>;
}

/** Starts Debian's Chromium without a display. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.KPW_CHROMIUM ?? '/usr/bin/chromium',
    // As root, for example in a container, the sandbox does not work. Only pages of this project are opened.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
}

/** Opens a page in its own browser context. */
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
