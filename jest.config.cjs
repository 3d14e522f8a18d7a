const { availableParallelism } = require('node:os');

const builtIns =
  'Array ArrayBuffer Boolean DataView Error Infinity JSON Map Math Number Object Promise Reflect RegExp Set String Symbol TypeError ' +
  'Uint8Array WeakMap WeakSet';

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: '<rootDir>/test/support/sandbox-environment.cjs',
  // A test file looks up a global of its context in 0.2 µs, 100 times as long as a parameter of a module. Left out are those
  // that tests replace (BigInt, Date, timers), and those that modules declare (Buffer, process, URL).
  sandboxInjectedGlobals: builtIns.split(' '),
  // A busy machine is no reason to fail.
  testTimeout: 60_000,
  // Two more than there are cores: some tests wait for timers of seconds, or for a child process.
  maxWorkers: availableParallelism() + 2,
  // A process that has run hundreds of files is slow with what is left of them.
  workerIdleMemoryLimit: '500MB',
  setupFiles: [
    '<rootDir>/test/support/quiet-grpc.ts',
    '<rootDir>/test/support/observed-by-request.ts',
  ],
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // Those in Chromium take a fifth of the time of all: npm run browser. One of them stays, as a short form.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/browser/(?!timeline)'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' } },
    ],
  },
};
