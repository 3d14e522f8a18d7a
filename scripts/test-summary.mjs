// Prints the one line that sums up test runs, from the files that `jest --json --outputFile` wrote.
//
//   node scripts/test-summary.mjs results.json...
//
// A test file that did not even load has no tests to count; it counts as one failure.

import { readFileSync } from 'node:fs';

let [passed, failed] = [0, 0];
for (const file of process.argv.slice(2)) {
  const results = JSON.parse(readFileSync(file, 'utf8'));
  passed += results.numPassedTests;
  failed += results.numFailedTests + results.numRuntimeErrorTestSuites;
}
console.log(`${passed} passed, ${failed} failed`);
