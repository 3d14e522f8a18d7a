import type { Page } from 'playwright-core';

/**
 * Presses the Tab key through everything that a tab shows.
 *
 * @returns what can be operated and did not get the focus, or got it without being seen to have it.
 */
export async function unreached(tab: Page): Promise<readonly string[]> {
  const count = await tab.evaluate<number>(BEGIN);
  const round = async () => {
    // The browser itself has a turn between the last and the first.
    for (let press = 0; press < count + 2; press++) await tab.keyboard.press('Tab');
  };
  await round();
  // An update may have added some, which come before the last ones.
  if ((await tab.evaluate<number>(MISSED)) > 0) await round();
  return tab.evaluate<readonly string[]>(END);
}

/** Parts of a group, such as tabs and rows of a tree, share one turn: the arrow keys lead to the others. */
const BEGIN = `(() => {
  const root = document.querySelector('dialog[open]') ?? document;
  const operable = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';
  const expected = [...root.querySelectorAll(operable)].filter(
    (each) => each.tabIndex >= 0 && !each.disabled && each.checkVisibility(),
  );
  const reached = new Map();
  const look = ({ target }) => {
    const parts = [target, ...target.querySelectorAll('.hit')].map((each) => getComputedStyle(each));
    const isSeen = parts.some(
      ({ outlineStyle, outlineWidth, strokeWidth, stroke }) =>
        (outlineStyle !== 'none' && outlineWidth !== '0px') ||
        (stroke !== 'none' && strokeWidth !== '0px'),
    );
    reached.set(target, isSeen);
  };
  document.activeElement?.blur();
  document.addEventListener('focusin', look);
  globalThis.focusRound = { expected, reached, look };
  return expected.length;
})()`;

/** How many there are that could be reached and were not. */
const MISSED = `(() => {
  const { expected, reached } = globalThis.focusRound;
  return expected.filter((each) => each.isConnected && !reached.has(each)).length;
})()`;

/** Those that an update has taken away meanwhile are not missed. */
const END = `(() => {
  const { expected, reached, look } = globalThis.focusRound;
  document.removeEventListener('focusin', look);
  document.activeElement?.blur();
  const missed = expected.filter((each) => each.isConnected && reached.get(each) !== true);
  return missed.map((each) => (reached.has(each) ? 'without a mark: ' : '') + each.outerHTML.slice(0, 120));
})()`;
