import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type DemoProcess, startDemo } from './demo-process.ts';
import { layoutFaults } from './layout.ts';
import { moveAndReturn } from './move-and-return.ts';
import { longName, MANY, openWideScene, type Scene } from './scene.ts';
import { useBrowser } from './use-browser.ts';

const WIDTHS = [400, 1000, 1400];
const MANY_NAME = `default/${longName(1)}`;

const openTab = useBrowser();

async function open(url: string, width: number, height = 800): Promise<Page> {
  return (await openTab(url, { viewport: { width, height } })).page;
}

/** Classes of the elements that scroll within the window. */
function scrolled(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('body *')]
      .filter((each) => /auto|scroll/.test(getComputedStyle(each).overflowY))
      .map(({ className }) => className),
  );
}

describe('nothing is cut or painted over anything else', () => {
  let scene: Scene;

  beforeAll(async () => {
    scene = await openWideScene();
    await moveAndReturn(scene);
  });
  afterAll(() => scene.close());

  // "200/200" was once cut to "200/20" beside an open explanation.
  test.each(
    WIDTHS.flatMap((width) =>
      [
        '',
        MANY_NAME,
        `default/${longName(2)}`,
        'default/stranded',
        'default/broken?show=warnings',
        '?tab=Node',
        `${MANY_NAME}?tab=Node`,
        `default/web?tab=Decisions`,
      ].map((hash) => [width, hash] as const),
    ),
  )('at %i px: #%s', async (width, hash) => {
    const page = await open(`${scene.url}/#${hash}`, width);
    if (!hash.includes('tab=')) await page.getByRole('row').nth(3).waitFor();
    else await page.locator('#panel .node table, #panel time').first().waitFor();
    if (hash.startsWith('default')) await page.locator('.endpoints tbody').waitFor();
    const more = page.getByRole('button', { name: `${MANY - 100} more` });
    if (hash.startsWith(MANY_NAME)) await more.click();
    expect(await layoutFaults(page)).toEqual([]);
    // The window scrolls, and on a wide one the explanation beside the list.
    expect(await scrolled(page)).toEqual(
      width === 400 ? [] : expect.not.arrayContaining(['panel']),
    );
  });

  test('a long name shows its start and its end, and has a whole title', async () => {
    const page = await open(`${scene.url}/`, 400);
    const name = page.locator(`.middle[title="${MANY_NAME}"]`);
    await name.waitFor();
    expect(await name.textContent()).toBe(MANY_NAME);
    const [start, end] = await Promise.all(
      ['.start', '.end'].map((part) =>
        name.locator(part).evaluate((element) => element.scrollWidth - element.clientWidth),
      ),
    );
    expect(start).toBeGreaterThan(0);
    expect(end).toBe(0);
  });
});

describe('the demo', () => {
  let demo: DemoProcess;

  beforeAll(async () => {
    demo = await startDemo();
  });
  afterAll(() => demo?.close());

  // The bar of the demo once left no room for the list, which was painted over it.
  test.each([
    [400, 800],
    [1200, 420],
    [1400, 800],
  ])('at %i × %i px the list is below the bar', async (width, height) => {
    const page = await open(demo.url, width, height);
    await page.locator('.dot').first().waitFor();
    await page.locator('.endpoints tbody').waitFor();
    expect(await layoutFaults(page)).toEqual([]);
  });
});
