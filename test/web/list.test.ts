import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from '../support/eventually.ts';
import { longName, openWideScene, type Scene } from './scene.ts';
import { useBrowser } from './use-browser.ts';

const LONG = [1, 2].map((number) => `default/${longName(number)}`);
const BY_NAME = ['asleep', 'broken', ...LONG, 'plain', 'stranded', 'web', 'kube-system/dns'].map(
  (name) => (name.includes('/') ? name : `default/${name}`),
);

const open = useBrowser();
let scene: Scene;
let page: Page;

beforeAll(async () => {
  scene = await openWideScene();
});
afterAll(() => scene.close());

beforeEach(async () => {
  ({ page } = await open(`${scene.url}/`));
  await eventually(listed, BY_NAME);
});

function listed(): Promise<string[]> {
  return page.locator('.services .name').allTextContents();
}

function row(service: string) {
  return page.getByRole('row').filter({ hasText: service });
}

async function explain(service: string) {
  await row(service).click();
  const explanation = page.locator('.explanation');
  await explanation.locator('.endpoints tbody').waitFor();
  return explanation;
}

test('warnings are grouped by kind, those of failing traffic first', async () => {
  await page.getByRole('radio', { name: 'Warnings' }).check();
  const kinds = page.getByRole('group', { name: 'Kind of warning' }).getByRole('button');
  await eventually(
    async () => (await kinds.allTextContents()).map((text) => text.replace(/[✕▲]/, '').trim()),
    [
      'traffic fails: none-ready 2',
      'traffic fails: nothing-matches 1',
      'warning: invalid-policy 1',
      'warning: own-label-missing 1',
    ],
  );
  await kinds.filter({ hasText: 'none-ready' }).click();
  await eventually(listed, ['default/asleep', `default/${longName(2)}`]);
});

describe('a link', () => {
  test('has the search, the filters, the Service and the tab', async () => {
    await page.getByRole('searchbox').fill('default');
    await page.getByRole('radio', { name: 'Warnings' }).check();
    await page.getByRole('button', { name: 'none-ready' }).click();
    const expected = ['default/asleep', `default/${longName(2)}`];
    await eventually(listed, expected);
    await explain('default/asleep');
    const other = await open(page.url());
    const names = other.page.locator('.services .name');
    await eventually(() => names.allTextContents(), expected);
    expect(await other.page.getByRole('searchbox').inputValue()).toBe('default');
    await other.page.getByRole('heading', { name: 'default/asleep' }).waitFor();
    await other.page.getByRole('tab', { name: 'Node' }).click();
    await page.goto(other.page.url());
    await page.getByRole('heading', { name: 'Neighbours' }).waitFor();
    await page.getByRole('heading', { name: 'default/asleep' }).waitFor();
  });

  test('with unknown values shows the defaults', async () => {
    const hash = '#?tab=None&show=constructor&warning=x';
    await page.goto('about:blank');
    await page.goto(`${scene.url}/${hash}`);
    await eventually(listed, BY_NAME);
  });

  test('the Back button leads to the previous tab, and does not undo single letters', async () => {
    await page.getByRole('tab', { name: 'Node' }).click();
    await page.getByRole('tab', { name: 'Services' }).click();
    await page.getByRole('searchbox').pressSequentially('web');
    await eventually(listed, ['default/web']);
    await page.goBack();
    await page.getByRole('heading', { name: 'Neighbours' }).waitFor();
  });
});

test('the name of a Service and the command that explains it can be copied', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const explanation = await explain('default/web');
  const copied = async (name: string): Promise<string> => {
    await explanation.getByRole('button', { name }).click();
    await explanation.locator('.copy', { hasText: 'Copied' }).last().waitFor();
    return await page.evaluate(() => navigator.clipboard.readText());
  };
  expect(await copied('Copy name')).toBe('default/web');
  expect(await copied('Copy command')).toBe('kubectl kpw explain default/web --node edge-1');
});

// A Service with 0 of 4 endpoints was once headed "the first of rack that counts wins".
test('a Service without an endpoint that its policy selects is headed by what happens', async () => {
  const explanation = await explain('default/stranded');
  expect(await explanation.locator('.outcome').textContent()).toContain(
    'No endpoint matches rack, so kube-proxy on this node refuses its connections.',
  );
  await explanation.getByRole('heading', { name: 'Traffic fails' }).waitFor();
  const order = await explanation.locator('.warnings h3').allTextContents();
  expect(order).toEqual(['Traffic fails', 'Warnings']);
});

// A kept endpoint was once green, ready or not.
test('endpoints that are not ready differ by form: hatched in bars, with a sign in the table', async () => {
  const shapes = (service: string) =>
    row(service)
      .locator('rect')
      .evaluateAll((rects) => rects.map((rect) => rect.getAttribute('class')));
  expect(await shapes('default/web')).toEqual(['kept', 'waiting', 'out']);
  expect(await shapes('default/asleep')).toEqual(['waiting', 'waiting']);
  const fill = await row('default/asleep')
    .locator('.waiting')
    .first()
    .evaluate((rect) => getComputedStyle(rect).fill);
  expect(fill).toContain('#hatch');
  const explanation = await explain('default/web');
  expect(await explanation.locator('.state').allTextContents()).toEqual([
    '✕ not ready',
    'ready',
    'ready',
  ]);
});
