import { audit } from '../support/audit';
import { describeInBrowser } from '../support/describe-in-browser';
import { unreached } from './unreached';
import { SCENES } from './scenes';

/** Each width, and each theme: what a theme changes does not depend on the width. */
const LOOKS = [
  ['light', 360],
  ['dark', 768],
  ['light', 1280],
] as const;

describeInBrowser('every page in Chromium', (chromium) => {
  it.each(Object.entries(SCENES))(
    'of %s: has no findings in any view, theme and width, and is reached by keyboard',
    async (_name, start) => {
      const tab = await chromium.openTab({ reducedMotion: 'reduce' });
      const { url, states } = await start(chromium);
      await tab.goto(url);
      const problems: string[] = [];
      for (const [state, show] of Object.entries(states)) {
        await show();
        for (const [colorScheme, width] of LOOKS) {
          await tab.setViewportSize({ width, height: 800 });
          await tab.emulateMedia({ colorScheme });
          const findings = await audit(tab);
          problems.push(...findings.map((each) => `${state}, ${colorScheme}, ${width}: ${each}`));
          const missed = await unreached(tab);
          problems.push(...missed.map((each) => `${state}, ${width}: not reached: ${each}`));
        }
      }
      expect(problems).toEqual([]);
    },
    180_000,
  );
});
