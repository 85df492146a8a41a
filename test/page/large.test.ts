import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { openTab, startBrowser } from './browser.ts';
import { openLargeScene, type Scene } from './scene.ts';

const SERVICES = 10_000;

let browser: Browser;
let scene: Scene | undefined;

beforeAll(async () => {
  browser = await startBrowser();
  scene = await openLargeScene(SERVICES);
});

afterAll(async () => {
  await browser.close();
  await scene?.close();
});

test('of 10,000 Services the first 200 are listed, and the others are found', async () => {
  if (scene === undefined) throw new Error('there is no scene');
  const { server } = scene;
  const times: Record<string, number> = {};
  const measure = async (name: string, done: () => Promise<unknown>): Promise<void> => {
    const from = performance.now();
    await done();
    times[name] = Math.round(performance.now() - from);
  };
  const tab = await openTab(browser, `${scene.url}/`);
  const { page } = tab;
  await measure('first rows', () =>
    page.getByText('200 of 10,000 shown: search or filter', { exact: true }).waitFor(),
  );
  expect(await page.locator('.services tbody tr').count()).toBe(200);
  await measure('searched', async () => {
    await page.getByRole('searchbox').fill('service-0999');
    await page.getByText('10 Services', { exact: true }).waitFor();
  });
  await measure('relabelled', async () => {
    server.label('edge-1', 'site', 'none');
    await page.getByRole('img', { name: '4 of 4 endpoints kept' }).first().waitFor();
  });
  await measure('filtered by warnings', async () => {
    await page.getByRole('searchbox').fill('');
    await page.getByRole('radio', { name: 'Warnings' }).check();
    await page.getByText('No Service matches.').waitFor();
  });
  expect(tab.problems).toEqual([]);
  await tab.close();
  // For information only: the test does not check the speed of the machine.
  process.stdout.write(`${SERVICES} Services, ms: ${JSON.stringify(times)}\n`);
});
