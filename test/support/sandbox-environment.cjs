// The environment of each test file: that of Jest for Node.js, without what slows failed calls, and later files.
const { AsyncLocalStorage } = require('node:async_hooks');
const { setFlagsFromString } = require('node:v8');
const { TestEnvironment } = require('jest-environment-node');
const { formatFramesOnce } = require('./format-frames-once.cjs');
require('./compile-once.cjs');

// Each file runs its modules in a context of its own, and most functions a few times: V8 would spend a tenth of the CPU time
// on optimizing functions whose file ends soon. This is 8 times the default.
setFlagsFromString('--interrupt-budget=500000');

/** The storages that the present test file has used, such as that of Jest itself, which each file creates anew. */
const used = new Set();

for (const name of ['run', 'enterWith']) {
  const original = AsyncLocalStorage.prototype[name];
  AsyncLocalStorage.prototype[name] = function (...options) {
    used.add(this);
    return original.apply(this, options);
  };
}

module.exports = class SandboxEnvironment extends TestEnvironment {
  /** Runs after Jest has installed its formatter, as it does for each file. */
  async setup() {
    await super.setup();
    Error.prepareStackTrace = formatFramesOnce(Error.prepareStackTrace);
  }

  /**
   * Disables the storages of the file. Before Node.js 24, each promise, timer and socket of a process copies the stores of
   * all storages that were used and not disabled: with those of 200 files, a promise takes 40 times as long.
   */
  async teardown() {
    await super.teardown();
    for (const storage of used) storage.disable();
    used.clear();
  }
};
