// Prints the one line that sums up a test run, from the file that `jest --json --outputFile` wrote.
//
//   node scripts/test-summary.mjs results.json
//
// A test file that did not even load has no tests to count; it counts as one failure.

import { readFileSync } from 'node:fs';

const results = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
console.log(`${results.numPassedTests} passed, ${failed} failed`);
