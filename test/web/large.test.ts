import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openLargeScene, type Scene } from './scene.ts';
import { useBrowser } from './use-browser.ts';

const SERVICES = 10_000;

const open = useBrowser();
let scene: Scene;

beforeAll(async () => {
  scene = await openLargeScene(SERVICES);
});

afterAll(() => scene.close());

test('of 10,000 Services the first 200 are listed, and the others are found', async () => {
  const { page } = await open(`${scene.url}/`);
  await page.getByText('200 of 10,000 shown: search or filter', { exact: true }).waitFor();
  expect(await page.locator('.services tbody tr').count()).toBe(200);
  await page.getByRole('searchbox').fill('service-0999');
  await page.getByText('10 Services', { exact: true }).waitFor();
  scene.server.label('edge-1', 'site', 'none');
  await page.getByRole('img', { name: '4 of 4 endpoints kept' }).first().waitFor();
  await page.getByRole('searchbox').fill('');
  await page.getByRole('radio', { name: 'Warnings' }).check();
  await page.getByText('No Service matches.').waitFor();
});
