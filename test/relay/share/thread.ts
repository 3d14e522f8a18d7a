// A worker thread that shares the streams of its process.
import { parentPort, workerData } from 'node:worker_threads';
import { register } from '../../../src';
import { EchoClient } from '../../support/echo-backend';

register({ bootstrap: workerData.bootstrap, share: 'threads' });
const client = new EchoClient(workerData.target);
void client.say().then((answer) => parentPort?.postMessage(answer));
// Stays until it is terminated.
setInterval(() => undefined, 60_000);
