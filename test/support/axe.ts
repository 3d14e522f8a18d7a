import { source as axeSource } from 'axe-core';
import type { Page } from 'playwright-core';

/** What axe finds, by the rules of WCAG 2.2 AA and those that it recommends besides. */
export async function audit(tab: Page): Promise<readonly string[]> {
  await tab.evaluate(axeSource);
  return tab.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
      };
    };
    const { violations } = await axe.run({ rules: { 'target-size': { enabled: true } } });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
}
