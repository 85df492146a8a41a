import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { ResponseHead } from '../../src/diagnosis/reading/version-info.ts';
import { advancingClock } from '../support/advancing-clock.ts';
import { eventually } from '../support/eventually.ts';
import { poorContrasts } from './contrast.ts';
import { layoutFaults } from './layout.ts';
import { openScene, type Scene } from './scene.ts';
import { useBrowser } from './use-browser.ts';

const open = useBrowser({ isOffline: true });
let scene: Scene;
let page: Page;
const clock = advancingClock();

beforeEach(async () => {
  scene = await openScene();
  ({ page } = await open(`${scene.url}/`));
  await eventually(() => page.locator('.health').textContent(), 'ready');
});
afterEach(() => scene.close());

/** The API server has been unreachable for so long, in milliseconds. */
async function outage(ms: number): Promise<void> {
  await scene.cutOff();
  await eventually(async () => {
    const response = await fetch(`${scene.url}/explain`);
    return ((await response.json()) as ResponseHead).data.unreachableSince !== undefined;
  }, true);
  clock.advance(ms);
}

// "not ready: 5 problems" once led to a tab that nobody had open, and all five had one cause.
test('an outage is one banner on every tab: its cause, and the age of the data', async () => {
  expect(await page.locator('.banner').count()).toBe(0);
  await outage(122_000);
  const banner = page.getByRole('region', { name: 'Problems of this node' });
  for (const name of ['Services', 'Decisions', 'Node']) {
    await page.getByRole('tab', { name }).click();
    await banner.waitFor();
  }
  expect(await banner.locator('.cause').count()).toBe(1);
  const text = (await banner.textContent()) ?? '';
  expect(text).toMatch(/^Not ready\. The API server has been unreachable since .*\(\d checks\)/);
  expect(text).toContain('The data is 2 min old. Later changes are not known.');
  expect(await page.locator('.health').textContent()).toBe('not ready');
  expect(await page.title()).toBe('edge-1 (not ready) · kube-proxy-wrapper');
  await page.setViewportSize({ width: 400, height: 800 });
  expect(await layoutFaults(page)).toEqual([]);
  expect(await poorContrasts(page)).toEqual([]);
});

test('the banner leads to the failed checks', async () => {
  await outage(20_000);
  await page.locator('.banner').getByRole('button', { name: 'Details' }).click();
  const failed = page.locator('.checks .bad');
  await failed.first().waitFor();
  await failed.filter({ hasText: '✕ failed' }).first().waitFor();
  // The same as the command `status` says.
  await failed.filter({ hasText: '✕ problem' }).filter({ hasText: 'data:' }).waitFor();
});

test('the banner is announced once, not with each second that the data gets older', async () => {
  await outage(20_000);
  // The connections are reset first, and then refused: another cause, which is announced too.
  const alert = page.getByRole('alert').filter({ hasText: 'ECONNREFUSED' });
  await alert.waitFor();
  const before = await alert.textContent();
  const age = page.locator('.banner .age');
  const first = await age.textContent();
  await eventually(async () => (await age.textContent()) === first, false);
  expect(await alert.textContent()).toBe(before);
});

test('a lost connection says what the page shows since then', async () => {
  await scene.stopAdmin();
  await page.getByText('No answer from the wrapper.').waitFor();
  expect(await page.getByRole('alert').textContent()).toMatch(
    /The page shows the state of \d+:\d\d/,
  );
  expect(await page.title()).toBe('edge-1 (no answer) · kube-proxy-wrapper');
});
