import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { eventually } from '../support/eventually.ts';
import { putSlice } from '../support/wrapper/small-cluster.ts';
import { openTab, startBrowser, type Tab } from './browser.ts';
import { openScene, type Scene } from './scene.ts';
import { openSlowPath, type SlowPath } from './slow-path.ts';

let browser: Browser;
let scene: Scene;
let path: SlowPath;
const tabs: Tab[] = [];

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

beforeEach(async () => {
  scene = await openScene();
  path = await openSlowPath(scene.url);
});

afterEach(async () => {
  for (const tab of tabs.splice(0)) await tab.close();
  path.close();
  await scene.close();
});

async function open(url = `${path.url}/`): Promise<Page> {
  const tab = await openTab(browser, url);
  tabs.push(tab);
  return tab.page;
}

function web(page: Page) {
  return page.getByRole('row').filter({ hasText: 'default/web' });
}

// After a lost tunnel or power failure, the page once showed the last state as live forever.
test('after 40 s without any event the connection counts as lost and is opened again', async () => {
  const page = await open('about:blank');
  await page.clock.install();
  await page.goto(`${path.url}/`);
  await web(page).waitFor();
  // The page itself has opened the views, and they count until they are complete.
  await eventually(() => page.locator('.health').textContent(), 'ready');
  path.freeze();
  scene.server.label('edge-1', 'site', 'b');
  await page.clock.runFor(39_000);
  expect(await page.locator('.title .labels').textContent()).toContain('site=a');
  expect(await page.locator('.health').textContent()).toBe('ready');
  await page.clock.runFor(2_000);
  await page.getByText('no connection to the wrapper').waitFor();
  // The browser tries its other idle connections first, which are dead too.
  await eventually(async () => {
    await page.clock.runFor(41_000);
    await delay(200);
    return (await page.locator('.title .labels').textContent())?.includes('site=b');
  }, true);
  await eventually(() => page.locator('.health').textContent(), 'ready');
});

test('a Service that changes faster than its explanation arrives is still explained', async () => {
  const page = await open();
  await web(page).waitFor();
  path.delayMs = 250;
  let ready = true;
  const flips = setInterval(() => {
    ready = !ready;
    putSlice(scene.server, 'web-1', 'web', [{ ip: '10.0.1.1', node: 'edge-1', ready }]);
  }, 150);
  try {
    await web(page).click();
    await page.locator('.explanation tbody').first().waitFor({ timeout: 5_000 });
  } finally {
    clearInterval(flips);
  }
  // The last change is shown too.
  putSlice(scene.server, 'web-1', 'web', [{ ip: '10.0.9.9', node: 'edge-1' }]);
  await page.locator('.explanation').getByText('10.0.9.9').waitFor();
});

// Six streams of background tabs use up the connections of a browser to one host.
test('a background tab opens no stream until it is visible', async () => {
  const page = await open('about:blank');
  await page.addInitScript(() => {
    Object.defineProperty(document, 'hidden', {
      get: () => !('seen' in window),
      configurable: true,
    });
  });
  const streams: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/events')) streams.push(request.url());
  });
  await page.goto(`${scene.url}/`);
  await page.getByRole('tab', { name: 'Services' }).waitFor();
  expect(streams).toEqual([]);
  await page.evaluate(() => {
    Object.assign(window, { seen: true });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await web(page).waitFor();
});

test('the ninth page reports that too many are open, and works after another one is closed', async () => {
  const streams = new AbortController();
  await Promise.all(
    Array.from({ length: 8 }, () => fetch(`${scene.url}/events`, { signal: streams.signal })),
  );
  const page = await open();
  await page.getByText('too many pages are open').waitFor();
  streams.abort();
  await web(page).waitFor();
  await eventually(() => page.locator('.health').textContent(), 'ready');
});
