// CPU time per call without metrics, and with those that are on by default, recorded in each of the two ways.
import { compareObserved, METRICS } from '../support/observed-clients.mjs';

export const run = () =>
  compareObserved({
    what: 'metrics',
    variants: [['no metrics'], ['no metrics again'], ...METRICS],
    target: 'at most 4 % with a metricProducer.',
  });
