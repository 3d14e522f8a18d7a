// A worker thread that shares the streams of its process, until it is terminated. A number of calls a second that it receives
// starts calls, and 0 has it report them.
import { parentPort, workerData } from 'node:worker_threads';
import { register } from '../../../src';
import { EchoClient } from '../../support/echo-backend';

register({ bootstrap: workerData.bootstrap, share: 'threads' });
const client = new EchoClient(workerData.target);
void client.say().then((answer) => parentPort?.postMessage(answer));
const failures: string[] = [];
let calls = 0;
parentPort?.on('message', (callsPerSecond: number) => {
  if (callsPerSecond === 0) {
    parentPort?.postMessage({ calls, failures });
    return;
  }
  const call = () => {
    calls++;
    client.say().catch((error: Error) => failures.push(error.message));
  };
  setInterval(call, 1000 / callsPerSecond);
});
