// Loaded into the process of a relay: says how many bytes it keeps, when it is asked to.
process.on('message', () => {
  global.gc();
  const { heapUsed, external } = process.memoryUsage();
  process.send(heapUsed + external);
});
// The channel to the parent does not keep the process running.
process.channel.unref();
