const { availableParallelism } = require('node:os');

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: 'node',
  // A busy machine is no reason to fail.
  testTimeout: 60_000,
  // One more than there are cores: some tests wait for timers of seconds, or for a child process.
  maxWorkers: availableParallelism() + 1,
  // A process that has run hundreds of files is slow with what is left of them.
  workerIdleMemoryLimit: '500MB',
  setupFiles: [
    '<rootDir>/test/support/quiet-grpc.ts',
    '<rootDir>/test/support/observed-by-request.ts',
  ],
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' } },
    ],
  },
};
