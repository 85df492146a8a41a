import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from '../support/eventually.ts';
import { type DemoProcess, startDemo } from './demo-process.ts';
import { layoutFaults } from './layout.ts';
import { useBrowser } from './use-browser.ts';

const open = useBrowser();
let demo: DemoProcess;
let page: Page;

beforeAll(async () => {
  demo = await startDemo();
});
afterAll(() => demo?.close());

beforeEach(async () => {
  ({ page } = await open(demo.url));
});

/** The endpoints of the explained Service in the map. */
function dots(): Promise<string[]> {
  return page
    .locator('.dot')
    .evaluateAll((elements) => elements.map((each) => each.getAttribute('aria-label') ?? ''));
}

test('a user opens a node, moves it, lets an endpoint fail, and opens another node', async () => {
  await eventually(dots, [
    '10.244.1.10, kept, ready',
    '10.244.2.10, left out, ready',
    '10.244.101.10, left out, ready',
  ]);
  await page.getByRole('button', { name: '10.244.1.10' }).click();
  await eventually(dots, [
    '10.244.1.10, kept, notReady',
    '10.244.2.10, kept, ready',
    '10.244.101.10, left out, ready',
  ]);
  await page.locator('.card.here').getByRole('button', { name: 'to site b' }).click();
  await page.getByText('> label edge-1 site=b').waitFor();
  await eventually(
    async () => (await dots()).sort().filter((each) => each.includes('kept')).length,
    3,
  );
  await page.getByRole('button', { name: 'the site only' }).click();
  await eventually(dots, [
    '10.244.2.10, left out, ready',
    '10.244.1.10, kept, notReady',
    '10.244.101.10, left out, ready',
  ]);
  await page.getByRole('link', { name: 'edge-2' }).click();
  await page.getByRole('heading', { level: 1, name: 'edge-2' }).waitFor();
  await eventually(async () => (await dots())[0], '10.244.2.10, kept, ready');
});

// The bar once read the cluster only when the open explanation changed.
test('the bar shows commands of the terminal, and nothing of a closed Service', async () => {
  await page.locator('.dot').first().waitFor();
  demo.type('annotate web topologyKeys=["site"]');
  await page.getByRole('button', { name: 'the site only', pressed: true }).waitFor();
  demo.type('annotate web topologyKeys-');
  await page.getByRole('button', { name: 'no policy', pressed: true }).waitFor();
  demo.type('label cloud-2 site=z');
  await page
    .locator('.places fieldset')
    .filter({ hasText: 'site z' })
    .getByText('cloud-2')
    .waitFor();
  await page.keyboard.press('Escape');
  await eventually(dots, []);
  await page.getByRole('button', { name: 'no policy' }).waitFor({ state: 'detached' });
  await page.getByRole('row').filter({ hasText: 'default/web' }).click();
  await eventually(async () => (await dots()).length, 3);
});

test('nodes are grouped and moved by another label that policies use', async () => {
  await page.getByLabel('Group and move nodes by').selectOption('topology.kubernetes.io/zone');
  const place = (name: string) => page.locator('.places fieldset').filter({ hasText: name });
  await place('zone eu-central-1a').getByText('cloud-1').waitFor();
  await page
    .locator('.card')
    .filter({ hasText: 'edge-2' })
    .getByRole('button', { name: 'to zone eu-central-1b' })
    .click();
  await place('zone eu-central-1b').getByText('edge-2').waitFor();
  await page.getByRole('button', { name: 'the zone only' }).click();
  await page.getByRole('button', { name: 'the zone only', pressed: true }).waitFor();
  demo.type(`label edge-3 topology.kubernetes.io/zone=${'a-long-zone-'.repeat(5)}z`);
  await place('a-long-zone').getByText('edge-3').waitFor();
  for (const width of [400, 1000, 1400]) {
    await page.setViewportSize({ width, height: 900 });
    expect(await layoutFaults(page)).toEqual([]);
  }
  // The page of another node, and a label that no policy uses any more, keep the choice.
  await page.getByRole('link', { name: 'cloud-2' }).click();
  await page.getByRole('heading', { level: 1, name: 'cloud-2' }).waitFor();
  await place('zone eu-central-1b').getByText('edge-2').waitFor();
});

test('the page cannot end the demo', async () => {
  const answer = await fetch(`${demo.url}demo/command`, { method: 'POST', body: 'quit' });
  expect([answer.status, await answer.text()]).toEqual([
    400,
    'quit works in the terminal of the demo only',
  ]);
});

test('commands from other web pages are refused', async () => {
  const post = (headers: Record<string, string>) =>
    fetch(`${demo.url}demo/command`, { method: 'POST', body: 'label edge-1 site=x', headers });
  expect((await post({ origin: 'http://evil.example' })).status).toBe(400);
  expect((await post({ 'sec-fetch-site': 'cross-site' })).status).toBe(400);
  const cluster = (await (await fetch(`${demo.url}demo/cluster`)).json()) as {
    nodes: { labels: { site?: string } }[];
  };
  expect(cluster.nodes.some(({ labels }) => labels.site === 'x')).toBe(false);
});
