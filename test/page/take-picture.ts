/** Takes docs/page.png, the picture in the README: `npm run picture`. */
import { setTimeout as delay } from 'node:timers/promises';
import { openTab, startBrowser } from './browser.ts';
import { startDemo } from './demo-process.ts';

/** Time until the last events are drawn, in milliseconds. */
const SETTLE_MS = 1_000;

const demo = await startDemo();
const browser = await startBrowser();
const tab = await openTab(browser, demo.url, { viewport: { width: 1200, height: 780 } });
await tab.page.getByText('would win').waitFor();
await delay(SETTLE_MS);
const path = new URL('../../docs/page.png', import.meta.url).pathname;
await tab.page.screenshot({ path });
await browser.close();
await demo.close();
