import { describeInBrowser } from '../support/describe-in-browser';
import { checkDay, runDay } from './day';

/** `npm run trial -- day` is the whole day. */
const UPDATES = 60;

describeInBrowser('pages that are open for a part of a day, in Chromium', (chromium) => {
  it('keep no more and more, and their process neither', async () => {
    const report = await runDay(chromium.browser, UPDATES);
    expect(checkDay(report)).toEqual([]);
    expect(Object.keys(report.pages)).toEqual(['client', 'server', 'control plane']);
  }, 300_000);
});
