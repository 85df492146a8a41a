import type { Page } from 'playwright-core';

/**
 * What is wrong with the layout of a page: texts that are cut, texts that are painted over each other, and a window
 * that must be scrolled sideways. A name that is shortened in its middle is not cut, because its title is whole; what
 * can be scrolled is not cut either.
 */
export function layoutFaults(page: Page): Promise<string[]> {
  // Runs in the browser, so it is one function that uses nothing else of this file.
  return page.evaluate(() => {
    interface Box {
      left: number;
      top: number;
      right: number;
      bottom: number;
    }
    const faults: string[] = [];
    const seen: { node: Node; text: string; box: Box }[] = [];
    const shared = (a: Box, b: Box): Box => ({
      left: Math.max(a.left, b.left),
      top: Math.max(a.top, b.top),
      right: Math.min(a.right, b.right),
      bottom: Math.min(a.bottom, b.bottom),
    });
    /** The visible part of a text. Reports a text that an ancestor cuts. */
    const clip = (text: string, start: Element, rect: Box): Box => {
      let whole = rect;
      let box = whole;
      for (let at: Element | null = start; at !== null; at = at.parentElement) {
        const { overflowX } = getComputedStyle(at);
        if (overflowX === 'visible' || at === document.body) continue;
        const edge = at.getBoundingClientRect();
        const isCut = whole.right > edge.right + 1 || whole.left < edge.left - 1;
        const isVisible = edge.width > 0 && whole.bottom > edge.top && whole.top < edge.bottom;
        if (overflowX !== 'auto' && overflowX !== 'scroll' && isCut && isVisible) {
          if (at.matches('.middle .start')) whole = shared(whole, edge);
          else faults.push(`cut: ${text}`);
        }
        box = shared(box, edge);
      }
      return box;
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node.parentElement as Element;
      const text = (node.textContent ?? '').trim();
      if (text === '' || element.closest('.sr, svg, noscript, option, .why:is(th)')) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const rect of range.getClientRects()) {
        const box = clip(text, element, rect);
        if (box.right - box.left > 1 && box.bottom - box.top > 1) seen.push({ node, text, box });
      }
    }
    seen.sort((a, b) => a.box.top - b.box.top);
    for (const [index, { node, text, box }] of seen.entries()) {
      for (const other of seen.slice(index + 1)) {
        if (other.box.top > box.bottom) break;
        const both = shared(box, other.box);
        // Lines may touch. A text with an ellipsis has two boxes.
        const isOver =
          node !== other.node && both.right - both.left > 2 && both.bottom - both.top > 5;
        if (isOver) faults.push(`over each other: ${text} / ${other.text}`);
      }
    }
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth > clientWidth) faults.push(`the page is ${scrollWidth} wide`);
    return [...new Set(faults)];
  });
}
