// The tests of the live page in Chromium: `npm run browser`.
const { availableParallelism } = require('node:os');
const config = require('./jest.config.cjs');

// Without Chromium they fail, and are not skipped as in `npm test`.
process.env.NEEDS_CHROMIUM = 'true';

/** @type {import('jest').Config} */
module.exports = {
  ...config,
  // Chromium has processes of its own.
  maxWorkers: availableParallelism(),
  testMatch: ['<rootDir>/test/browser/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
