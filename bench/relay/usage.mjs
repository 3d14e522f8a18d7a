// What a process has used, from the files of Linux.
import { readdirSync, readFileSync } from 'node:fs';

/** Returns the CPU time of a process in milliseconds, of all its threads that have not ended. */
export function cpuMsOf(pid) {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const [spent] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
    nanoseconds += Number(spent);
  }
  return nanoseconds / 1e6;
}

/** Returns the memory of a process in MiB. */
export function memoryOf(pid) {
  const [, kB] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(kB) / 1024;
}
