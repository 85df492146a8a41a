import type { Page } from 'playwright-core';

/** Texts with a contrast to their background below 4.5:1 (WCAG 2.2, 1.4.3), with the ratio. */
export function poorContrasts(page: Page): Promise<string[]> {
  // Runs in the browser, so it is one function that uses nothing else of this file.
  return page.evaluate(() => {
    type Colour = [number, number, number, number];
    const parse = (text: string): Colour => {
      const [r = 0, g = 0, b = 0, a = 1] = (text.match(/[\d.]+/g) ?? []).map(Number);
      return [r, g, b, a];
    };
    const luminance = ([r, g, b]: Colour): number => {
      const [x = 0, y = 0, z = 0] = [r, g, b].map((each) => {
        const part = each / 255;
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const behind = (element: Element | null): Colour => {
      if (element === null) return [255, 255, 255, 1];
      const colour = parse(getComputedStyle(element).backgroundColor);
      return colour[3] === 1 ? colour : behind(element.parentElement);
    };
    const poor: string[] = [];
    for (const element of document.querySelectorAll('body *')) {
      const own = [...element.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
      const text = own.map(({ textContent }) => textContent?.trim()).join('');
      if (text === '' || element.closest('.sr, svg, noscript') !== null) continue;
      const [light = 0, dark = 0] = [
        luminance(parse(getComputedStyle(element).color)),
        luminance(behind(element)),
      ].sort((a, b) => b - a);
      const ratio = (light + 0.05) / (dark + 0.05);
      if (ratio < 4.5) poor.push(`${text}: ${ratio.toFixed(2)}`);
    }
    return poor;
  });
}
