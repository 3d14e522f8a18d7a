'use strict';

// Interrupts a command some time after it has begun to wait for that, by a timer that does not keep the process alive: a
// command that nothing else keeps alive ends before, which it says.
const AFTER_MS = 500;
let isInterrupted = false;

process.on('newListener', (event) => {
  if (event !== 'SIGTERM' || isInterrupted) return;
  setTimeout(() => {
    isInterrupted = true;
    process.kill(process.pid, 'SIGTERM');
  }, AFTER_MS).unref();
});
process.on('beforeExit', () => {
  if (!isInterrupted) process.stderr.write('ended before it was interrupted\n');
});
