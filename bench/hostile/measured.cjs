// What a process takes from `begin` to `read`: the longest pause of its event loop, CPU time, and memory.
const { monitorEventLoopDelay } = require('node:perf_hooks');

const RESOLUTION_MS = 5;
const MEMORY_MS = 20;
const MIB = 2 ** 20;

const usedMiB = () => {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / MIB;
};

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
let peakMiB = 0;
let baseMiB = 0;
let cpu;

exports.begin = () => {
  global.gc();
  baseMiB = peakMiB = usedMiB();
  setInterval(() => (peakMiB = Math.max(peakMiB, usedMiB())), MEMORY_MS);
  delay.enable();
  cpu = process.cpuUsage();
  return 'begun';
};

exports.read = () => {
  const { user, system } = process.cpuUsage(cpu);
  const pauseMs = Math.max(0, delay.max / 1e6 - RESOLUTION_MS);
  delay.disable();
  global.gc();
  return {
    pauseMs,
    cpuMs: (user + system) / 1000,
    addedMiB: peakMiB - baseMiB,
    keptMiB: usedMiB() - baseMiB,
  };
};
