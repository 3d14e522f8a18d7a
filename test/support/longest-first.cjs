// The order of test files. Where Jest has no times of an earlier run, it begins with the largest files: those that start
// processes are small, and the last of them would run alone.
const { default: TestSequencer } = require('@jest/test-sequencer');

/** Files that take 10 s or more of a busy machine, and are small. */
const LONG = [
  'amplify/amplify',
  'browser/timeline',
  'chaos/chaos',
  'chaos/rotation',
  'chaos/server-chaos',
  'cli/displaced-commands',
  'cli/output-errors',
  'e2e/config-flip',
  'e2e/demo-mesh',
  'e2e/other-copies',
  'e2e/soak',
  'failures/failures',
  'fuzz/fuzz',
  'observe/opentelemetry/dashboard',
  'relay/differential',
  'relay/relay-loads-process',
  'relay/share/bootstraps',
  'relay/share/share',
  'tls-matrix/tls-matrix',
].map((name) => `/test/${name}.test.ts`);

const isLong = ({ path }) => LONG.some((end) => path.replaceAll('\\', '/').endsWith(end));

module.exports = class LongestFirst extends TestSequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
};
