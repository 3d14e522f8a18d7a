// CPU time per call without the live page, with one that no browser reads, and with one that is open.
import { compareObserved, PAGE } from '../support/observed-clients.mjs';

export const run = () =>
  compareObserved({
    what: 'the live page',
    variants: [['no page'], ['no page again'], ...PAGE],
    target:
      'nothing without a reader; the topology of a small target costs at most 5 % of the time.',
  });
