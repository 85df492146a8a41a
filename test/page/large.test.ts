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

test('10,000 Services are listed, searched, and followed through a relabel', async () => {
  if (scene === undefined) throw new Error('there is no scene');
  const { server } = scene;
  const times: Record<string, number> = {};
  const measure = async (name: string, done: () => Promise<unknown>): Promise<void> => {
    const from = performance.now();
    await done();
    times[name] = Math.round(performance.now() - from);
  };
  const start = performance.now();
  const tab = await openTab(browser, `${scene.url}/`);
  const { page } = tab;
  await page.locator('.rows .row').first().waitFor();
  times['first rows'] = Math.round(performance.now() - start);
  await page
    .getByText(`${SERVICES} Services, ${SERVICES} of ${4 * SERVICES} endpoints kept`, {
      exact: true,
    })
    .waitFor();
  times['all rows'] = Math.round(performance.now() - start);
  const paint = await page.evaluate(
    () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
  );
  times['first paint'] = Math.round(paint);
  // Only visible rows are in the document.
  expect(await page.locator('.rows .row').count()).toBeLessThan(60);

  await measure('one Service changed', async () => {
    server.annotate('service-00001', 'topologyKeys', '["*"]');
    await page.getByText(`${SERVICES + 3} of`).waitFor();
  });
  await measure('all Services changed by a relabel', async () => {
    server.label('edge-1', 'site', 'none');
    await page
      .getByText(`${SERVICES} Services, ${4 * SERVICES} of ${4 * SERVICES} endpoints kept`)
      .waitFor();
  });
  await measure('searched', async () => {
    await page.getByRole('searchbox').fill('service-09999');
    await page.getByText('1 Service, 4 of 4 endpoints kept').waitFor();
  });
  await page.getByRole('searchbox').fill('');
  await page.getByRole('grid').focus();
  await measure('last row by keyboard', async () => {
    await page.keyboard.press('End');
    await page.getByRole('row', { name: 'service-09999' }).waitFor();
  });
  expect(tab.problems).toEqual([]);
  await tab.close();
  // For information only: the test does not check the speed of the machine.
  process.stdout.write(`${SERVICES} Services, ms: ${JSON.stringify(times)}\n`);
});
