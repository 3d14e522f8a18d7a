import { source as axeSource } from 'axe-core';
import type { Page } from 'playwright-core';

/**
 * What is wrong with what a tab shows: what axe finds, by the rules of WCAG 2.2 AA and those that it recommends besides, markup
 * that came from a text, and what is wider than the window.
 */
export async function audit(tab: Page): Promise<readonly string[]> {
  const { hasAxe, ...seen } = await tab.evaluate<Look>(LOOK);
  // It takes longer to send it than to run it.
  if (!hasAxe) await tab.evaluate(axeSource);
  const findings = await tab.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
      };
    };
    const { violations } = await axe.run({
      rules: { 'target-size': { enabled: true } },
      resultTypes: ['violations'],
    });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
  return [...findings, ...describeLook(seen)];
}

/** The same without axe, which takes most of the time. */
export async function auditLayout(tab: Page): Promise<readonly string[]> {
  return describeLook(await tab.evaluate<Look>(LOOK));
}

function describeLook({ overflow, markup }: Omit<Look, 'hasAxe'>): readonly string[] {
  return [
    ...(overflow > 0 ? [`${overflow} pixels wider than the window`] : []),
    ...(markup > 0 ? [`${markup} elements of a text`] : []),
  ];
}

interface Look {
  readonly hasAxe: boolean;
  readonly overflow: number;
  readonly markup: number;
}

/** The pages have neither pictures nor bold text of their own, and one script. */
const LOOK = `({
  hasAxe: 'axe' in globalThis,
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  markup: document.querySelectorAll('img, b, i, script:not([src="/assets/page.js"])').length,
})`;
