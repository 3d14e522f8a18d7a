// Which functions of a build have run, by V8's precise coverage.
const { Session } = require('node:inspector');
const { sep } = require('node:path');
const { promisify } = require('node:util');

/** @param folder The dist folder of the build. @returns a function that reports what has run since it was last called. */
exports.startCoverage = async (folder) => {
  const session = new Session();
  session.connect();
  const post = promisify(session.post.bind(session));
  await post('Profiler.enable');
  await post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  return async () => {
    const { result } = await post('Profiler.takePreciseCoverage');
    const files = new Set();
    const counts = { functions: 0, invocations: 0, loadedBytes: 0 };
    for (const { url, functions } of result) {
      if (!url.replace('file://', '').startsWith(folder + sep)) continue;
      for (const { functionName, ranges } of functions) {
        const [{ count, startOffset, endOffset }] = ranges;
        // The module itself.
        if (functionName === '' && startOffset === 0) counts.loadedBytes += endOffset;
        else if (count > 0) {
          counts.functions++;
          counts.invocations += count;
          files.add(url);
        }
      }
    }
    return { ...counts, files: files.size };
  };
};
