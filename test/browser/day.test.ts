import { describeInBrowser } from '../support/describe-in-browser';
import { checkDay, runDay } from './day';

/** Of each page: in so few, what one of them leaves is among what the engine learns, but nodes and listeners are counted. */
const UPDATES = 40;

describeInBrowser('pages that are open for long in Chromium', (chromium) => {
  it('and the process that serves them keep no more with every update', async () => {
    const report = await runDay(chromium.browser, UPDATES);
    expect(checkDay(report)).toEqual([]);
  }, 600_000);
});
