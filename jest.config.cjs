const { availableParallelism } = require('node:os');
const { createProject } = require('./test/support/jest-project.cjs');

/** The folders of test/ with the tests of a companion; the others are those of the library. */
const companions = ['cli', 'page', 'relay', 'kubernetes'];

/** @type {import('jest').Config} */
module.exports = {
  // A busy machine is no reason to fail.
  testTimeout: 60_000,
  // Two more than there are cores: some tests wait for timers of seconds, or for a child process.
  maxWorkers: availableParallelism() + 2,
  // What is left of hundreds of files is 0.15 GB; the rest is garbage. A new process takes a second to load what this one has.
  workerIdleMemoryLimit: '1GB',
  testSequencer: '<rootDir>/test/support/longest-first.cjs',
  projects: [
    // Tests in Chromium take a fifth of the time of all: npm run browser. One of them stays, as a short form.
    createProject(
      'library',
      ['**'],
      [
        ...companions.map((name) => `<rootDir>/test/${name}/`),
        '<rootDir>/test/browser/(?!timeline)',
      ],
    ),
    ...companions.map((name) => createProject(name, [name])),
  ],
};
