// The tests of the live page in Chromium: `npm run browser`.
const { availableParallelism } = require('node:os');
const { createProject } = require('./test/support/jest-project.cjs');
const config = require('./jest.config.cjs');

// Without Chromium they fail, and are not skipped as in `npm test`.
process.env.NEEDS_CHROMIUM = 'true';

/** @type {import('jest').Config} */
module.exports = {
  ...config,
  // Chromium has processes of its own.
  maxWorkers: availableParallelism(),
  projects: [createProject('browser', ['browser'])],
};
