import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { openTab, startBrowser, type Tab } from './browser.ts';

/**
 * A browser for the tests of a file. Returns what opens a tab in it; tabs are closed after each test. A test fails if a
 * tab had a problem or sent a request to another origin, unless the test has taken it from the list.
 *
 * @param isOffline requests of the pages fail in these tests, which is a problem of each tab
 */
export function useBrowser({ isOffline = false } = {}) {
  let browser: Browser;
  const tabs: Tab[] = [];
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    const seen = tabs.flatMap(({ problems, foreign }) => [...problems, ...foreign]);
    for (const tab of tabs.splice(0)) await tab.close();
    if (!isOffline) expect(seen).toEqual([]);
  });
  return async (url: string, options?: BrowserContextOptions): Promise<Tab> => {
    const tab = await openTab(browser, url, options);
    tabs.push(tab);
    return tab;
  };
}
