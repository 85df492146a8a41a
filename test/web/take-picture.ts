/**
 * Takes the pictures of docs/images/, in light and dark: `npm run picture` takes all, `npm run picture -- page-node`
 * takes one. docs/images/page.png, which the README shows, is the demo.
 */

import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { ensureOsPackages } from '../../harness/process/os-packages.ts';
import { runCommand } from '../../harness/process/run-command.ts';
import { openTab, startBrowser } from './browser.ts';
import { startDemo } from './demo-process.ts';
import { moveAndReturn } from './move-and-return.ts';
import { longName, openWideScene, type Scene } from './scene.ts';

/** Time until the next round of requests is drawn, in milliseconds. */
const SETTLE_MS = 3_000;
/** Time until an outage makes the node not ready, in milliseconds. */
const OUTAGE_MS = 15_000;

interface Picture {
  /** Of the file in docs/images/, without its end. */
  readonly name: string;
  readonly width: number;
  readonly height: number;
  /** What the page shows. */
  readonly hash: string;
  /** What happens before the picture is taken. */
  readonly before?: (scene: Scene) => Promise<void>;
}

const PICTURES: readonly Picture[] = [
  { name: 'page-services', width: 1100, height: 490, hash: '' },
  { name: 'page-explanation', width: 1100, height: 660, hash: 'default/web' },
  { name: 'page-refused', width: 1100, height: 560, hash: 'default/stranded' },
  {
    name: 'page-decisions',
    width: 1100,
    height: 260,
    hash: '?tab=Decisions',
    before: moveAndReturn,
  },
  { name: 'page-node', width: 1100, height: 800, hash: '?tab=Node' },
  {
    name: 'page-outage',
    width: 1100,
    height: 300,
    hash: '',
    async before(scene) {
      await scene.cutOff();
      await delay(OUTAGE_MS);
    },
  },
];

/** Names of the wanted pictures; empty: all. */
const wanted = process.argv.slice(2);
const isWanted = (name: string): boolean => wanted.length === 0 || wanted.includes(name);

async function save(page: Page, name: string): Promise<void> {
  const path = new URL(`../../docs/images/${name}.png`, import.meta.url).pathname;
  await page.screenshot({ path });
  // A palette makes it a third as large.
  await runCommand('pngquant', ['--force', '--ext=.png', '--nofs', path]);
  process.stdout.write(`${path}: ${Math.ceil(statSync(path).size / 1000)} kB\n`);
}

async function takeDemo(browser: Browser): Promise<void> {
  const demo = await startDemo();
  const tab = await openTab(browser, demo.url, { viewport: { width: 1200, height: 780 } });
  await tab.page.getByText('would win').waitFor();
  await delay(SETTLE_MS);
  await save(tab.page, 'page');
  await demo.close();
}

async function takePictures(browser: Browser): Promise<void> {
  const scene = await openWideScene();
  // It would fill the head of each picture.
  scene.server.label('edge-1', longName(3), null);
  for (const { name, width, height, hash, before } of PICTURES) {
    if (!isWanted(name)) continue;
    await before?.(scene);
    for (const colorScheme of ['light', 'dark'] as const) {
      const options = { viewport: { width, height }, colorScheme };
      const { page, close } = await openTab(browser, `${scene.url}/#${hash}`, options);
      // The first page opens the views.
      await page.locator('.health:not(.muted)').waitFor();
      await delay(SETTLE_MS);
      await save(page, colorScheme === 'light' ? name : `${name}-dark`);
      await close();
    }
  }
  await scene.close();
}

await ensureOsPackages({ pngquant: 'pngquant' });
const browser = await startBrowser();
if (isWanted('page')) await takeDemo(browser);
if (PICTURES.some(({ name }) => isWanted(name))) await takePictures(browser);
await browser.close();
