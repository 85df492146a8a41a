import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { DROP_OLD, startUrlFront, type UrlFront } from '../../harness/network/tcp-front.ts';
import { eventually } from '../support/eventually.ts';
import { putSlice } from '../support/wrapper/small-cluster.ts';
import { openScene, type Scene } from './scene.ts';
import { useBrowser } from './use-browser.ts';

const openTab = useBrowser({ isOffline: true });
let scene: Scene;
let path: UrlFront;

beforeEach(async () => {
  scene = await openScene();
  path = await startUrlFront(scene.url);
});

afterEach(async () => {
  await path.close();
  await scene.close();
});

async function open(url = `${path.url}/`): Promise<Page> {
  return (await openTab(url)).page;
}

function web(page: Page) {
  return page.getByRole('row').filter({ hasText: 'default/web' });
}

// After a lost tunnel or power failure, the page once showed the last state as live forever.
test('a page whose requests get no answer says so, with the age of what it shows, and recovers', async () => {
  const page = await open('about:blank');
  await page.clock.install();
  await page.goto(`${path.url}/`);
  await web(page).waitFor();
  // Time passes only here.
  const pass = async (ms: number): Promise<void> => {
    await page.clock.runFor(ms);
    await delay(100);
  };
  const labels = page.locator('.title .labels');
  await pass(2_500);
  await path.begin(DROP_OLD);
  scene.server.label('edge-1', 'site', 'b');
  await pass(2_500);
  await pass(7_000);
  expect(await labels.textContent()).toContain('site=a');
  expect(await page.locator('.banner').count()).toBe(0);
  await pass(4_000);
  await page.getByText('No answer from the wrapper.').waitFor();
  const age = page.locator('.banner .age');
  const first = await age.textContent();
  expect(first).toMatch(/It is \d+ s old/);
  await pass(1_000);
  expect(await age.textContent()).not.toBe(first);
  // The browser tries its other idle connections first, which are dead too.
  await eventually(async () => {
    await pass(15_000);
    return (await labels.textContent())?.includes('site=b');
  }, true);
  await page.locator('.banner').waitFor({ state: 'detached' });
});

test('a Service that changes faster than its explanation arrives is still explained', async () => {
  const page = await open();
  await web(page).waitFor();
  await slowDown(page, 500);
  let ready = true;
  const flips = setInterval(() => {
    ready = !ready;
    putSlice(scene.server, 'web-1', 'web', [{ ip: '10.0.1.1', node: 'edge-1', ready }]);
  }, 150);
  try {
    await web(page).click();
    await page.locator('.explanation tbody').first().waitFor({ timeout: 10_000 });
  } finally {
    clearInterval(flips);
  }
  // The last change is shown too.
  putSlice(scene.server, 'web-1', 'web', [{ ip: '10.0.9.9', node: 'edge-1' }]);
  await page.locator('.explanation').getByText('10.0.9.9').waitFor();
});

/** Delays each request of a page from now on. */
async function slowDown(page: Page, ms: number): Promise<void> {
  await page.route('**/*', async (route) => {
    await delay(ms);
    // The page may be closed.
    await route.continue().catch(() => {});
  });
}

/** Paths of the requests that a page sends from now on. */
function requestsOf(page: Page): string[] {
  const paths: string[] = [];
  page.on('request', (request) => paths.push(new URL(request.url()).pathname));
  return paths;
}

test('a background tab requests nothing until it is visible', async () => {
  const page = await open('about:blank');
  await page.addInitScript(() => {
    Object.defineProperty(document, 'hidden', {
      get: () => !('seen' in window),
      configurable: true,
    });
  });
  const paths = requestsOf(page);
  await page.goto(`${scene.url}/`);
  await page.getByRole('tab', { name: 'Services' }).waitFor();
  expect(paths).not.toContain('/node');
  await page.evaluate(() => {
    Object.assign(window, { seen: true });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await web(page).waitFor();
});

test('there is one request at a time, and each round requests only what the page shows', async () => {
  const page = await open();
  await web(page).waitFor();
  await slowDown(page, 200);
  await page.getByRole('tab', { name: 'Node' }).click();
  await page.getByRole('heading', { name: 'Neighbours' }).waitFor();
  const paths = requestsOf(page);
  await eventually(() => paths.length >= 4, true);
  expect(new Set(paths)).toEqual(new Set(['/node', '/status']));
  await page.getByRole('tab', { name: 'Services' }).click();
  let running = 0;
  let most = 0;
  paths.length = 0;
  page.on('request', () => {
    most = Math.max(most, ++running);
  });
  page.on('requestfinished', () => {
    running = Math.max(0, running - 1);
  });
  await eventually(() => paths.length >= 5, true);
  expect(most).toBe(1);
});

test('after failures the page asks less often', async () => {
  const page = await open(`${scene.url}/`);
  await web(page).waitFor();
  await page.clock.install();
  await page.route('**/*', (route) => route.abort());
  const paths = requestsOf(page);
  const asked = async (ms: number): Promise<number> => {
    paths.length = 0;
    for (let passed = 0; passed < ms; passed += 1_000) {
      await page.clock.runFor(1_000);
      await delay(20);
    }
    return paths.filter((each) => each === '/node').length;
  };
  await asked(60_000);
  expect(await asked(60_000)).toBeLessThanOrEqual(5);
});
