import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from '../support/eventually.ts';
import { poorContrasts } from './contrast.ts';
import { nameWithMarkup, openScene, type Scene } from './scene.ts';
import { useBrowser } from './use-browser.ts';

const open = useBrowser();
let scene: Scene;
let page: Page;

beforeEach(async () => {
  scene = await openScene();
  ({ page } = await open(`${scene.url}/`));
  await row('default/web').waitFor();
});

afterEach(() => scene.close());

function row(service: string) {
  return page.getByRole('row').filter({ hasText: service });
}

/** Names of the listed Services. */
function listed(): Promise<string[]> {
  return page.locator('.services .name').allTextContents();
}

function kept(service: string): Promise<string | null> {
  return row(service).getByRole('img').getAttribute('aria-label');
}

/** The cells of the endpoints in the open explanation. */
function endpoints(): Promise<string[]> {
  return page.locator('.explanation tbody tr:has(th[title])').allInnerTexts();
}

test('Services are listed with the endpoints that this node keeps', async () => {
  expect(await listed()).toEqual([
    'default/broken',
    'default/lost',
    'default/plain',
    'default/web',
  ]);
  expect(await kept('default/web')).toBe('2 of 3 endpoints kept, 1 not ready');
  expect(await kept('default/lost')).toBe('0 of 1 endpoints kept');
  await row('default/broken').getByText('invalid-policy').first().waitFor();
  await page.getByRole('heading', { level: 1, name: 'edge-1' }).waitFor();
  await page
    .getByRole('status')
    .filter({ hasText: /^ready$/ })
    .waitFor();
});

test('the page can be used with the keyboard alone', async () => {
  await page.keyboard.press('/');
  // A second one is a letter of the search.
  await page.keyboard.type('DEFAULT/ site');
  await eventually(listed, ['default/lost', 'default/web']);
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowRight');
  await page.getByRole('radio', { name: 'Filtered', checked: true }).waitFor();
  await eventually(listed, ['default/lost', 'default/web']);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'default/web' }).waitFor();
  // The key is handled once it has the focus, which a busy browser gives it later.
  await eventually(() => page.evaluate(() => document.activeElement?.id), 'explained');
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'default/web' }).waitFor({ state: 'detached' });
  await page.getByRole('tab', { name: 'Services' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('tab', { name: 'Decisions', selected: true }).waitFor();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('heading', { name: 'Neighbours' }).waitFor();
});

test('closing an explanation leads back to its Service in the list', async () => {
  await row('default/web').click();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Close' }).waitFor({ state: 'detached' });
  const focused = () => page.evaluate(() => document.activeElement?.textContent);
  expect(await focused()).toBe('default/web');
});

test.each([['../decisions'], ['default/'], ['default/nosuch']])(
  'a link to %s, which is no Service, does no harm',
  async (hash) => {
    const other = await open(`${scene.url}/#${hash}`);
    await other.page.locator('.explanation .bad').waitFor();
    scene.server.label('edge-1', 'site', 'b');
    await other.page.locator('.title .labels').getByText('site=b').waitFor();
    await other.page.getByRole('tab', { name: 'Node' }).click();
    await other.page.getByRole('heading', { name: 'Neighbours' }).waitFor();
    const unexpected = other.problems.splice(0).filter((each) => !each.includes('404 (Not Found)'));
    expect(unexpected).toEqual([]);
  },
);

test('a Service is explained after a click or by a link', async () => {
  await row('default/web').click();
  await page.getByText('Without the endpoints of site, * would win.').waitFor();
  expect(await endpoints()).toEqual([
    expect.stringMatching(/yes\s+10.0.1.1\s+edge-1\s+✕ not ready/),
    expect.stringMatching(/yes\s+10.0.2.1\s+edge-2\s+ready/),
    expect.stringMatching(/no\s+10.0.3.1\s+edge-3\s+ready\s+\* matches/),
  ]);
  const other = await open(page.url());
  await other.page.getByText('Without the endpoints of site, * would win.').waitFor();
});

test('the table of a port says how many ready endpoints a key needs, if that is not one', async () => {
  scene.server.annotate('web', 'kube-proxy-wrapper.io/min-ready', '{"site":2}');
  await row('default/web').click();
  const cells = async (key: string) =>
    (await page.locator(`.explanation tr:has(th:text-is("${key}")) td`).allTextContents()).at(0);
  await eventually(() => cells('site'), '1 of 2');
  expect(await cells('*')).toBe('2');
});

test('a relabel updates list, explanation, decisions and node without a click', async () => {
  await row('default/web').click();
  await page.getByText('Without the endpoints').waitFor();
  scene.server.label('edge-1', 'site', 'b');
  await eventually(() => kept('default/lost'), '1 of 1 endpoints kept');
  // The same number as before, but other endpoints.
  await eventually(
    async () => (await endpoints())[1]?.replace(/\s+/g, ' '),
    '● yes 10.0.3.1 edge-3 ready site matches, and has ready endpoints',
  );
  await page.getByRole('tab', { name: 'Decisions 2' }).click();
  await row('default/lost').getByText('none → site').waitFor();
  await row('default/web').getByText('2, others').waitFor();
  await page.getByRole('tab', { name: 'Node' }).click();
  await page.getByRole('row', { name: 'site nodes with site=b 2 edge-3' }).waitFor();
});

test('a new Service and a deleted one', async () => {
  scene.server.delete('endpointslices', 'plain-1');
  scene.server.delete('services', 'plain');
  await eventually(listed, ['default/broken', 'default/lost', 'default/web']);
  scene.server.annotate('lost', 'topologyKeys', null);
  await eventually(() => kept('default/lost'), '1 of 1 endpoints kept');
});

test.each(['light', 'dark'] as const)(
  'every text has enough contrast in %s mode',
  async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(ground).toBe(colorScheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(20, 24, 28)');
    await row('default/lost').click();
    await page.getByText('nothing-matches').first().waitFor({ state: 'attached' });
    await page.locator('.explanation tbody').first().waitFor();
    expect(await poorContrasts(page)).toEqual([]);
    await page.getByRole('tab', { name: 'Node' }).click();
    expect(await poorContrasts(page)).toEqual([]);
  },
);

test('every control has a name and a role', async () => {
  await row('default/web').click();
  await page.getByText('Without the endpoints').waitFor();
  const nameless = await page.$$eval(
    'button, input, select, a, [tabindex="0"], svg:not([aria-hidden])',
    (elements) =>
      elements
        .filter((element) => {
          const { labels } = element as HTMLInputElement;
          const label = element.getAttribute('aria-label') ?? labels?.[0]?.textContent;
          return (label ?? element.textContent ?? '').trim() === '';
        })
        .map((element) => element.outerHTML),
  );
  expect(nameless).toEqual([]);
  await page.getByRole('table', { name: 'Services' }).waitFor();
  expect(await page.getByRole('columnheader').allTextContents()).toContain('Endpoints');
  expect(await page.getByRole('tab', { selected: true }).allTextContents()).toEqual(['Services']);
});

test('an annotation is shown as text, never as markup', async () => {
  nameWithMarkup(scene.server);
  await row('default/web').getByText('invalid-policy').first().waitFor();
  await row('default/web').click();
  await page.getByText('<img src=x').first().waitFor();
  expect(await page.locator('img[src=x]').count()).toBe(0);
});

describe('the policy of the page (CSP)', () => {
  test('runs only its own script, and sends requests only to the admin port', async () => {
    const refused = await open(`${scene.url}/`);
    const blocked = await refused.page.evaluate(async () => {
      const script = document.createElement('script');
      script.textContent = 'document.title = "run"';
      document.body.append(script);
      document.body.insertAdjacentHTML('beforeend', '<p style="color: red" id="styled">x</p>');
      const styled = getComputedStyle(document.getElementById('styled') as HTMLElement).color;
      const asked = await fetch('http://127.0.0.1:9/').then(
        () => 'asked',
        () => 'refused',
      );
      return { title: document.title, styled, asked };
    });
    expect(blocked.title).not.toBe('run');
    expect(blocked.styled).not.toBe('rgb(255, 0, 0)');
    expect(blocked.asked).toBe('refused');
    const violations = refused.problems
      .splice(0)
      .filter((each) => each.includes('Content Security Policy'));
    expect(violations.length).toBeGreaterThanOrEqual(3);
  });
});
