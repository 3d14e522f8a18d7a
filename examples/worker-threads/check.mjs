// Clients in worker threads and in the main thread. Each thread has its own module instances, so each registers, and has
// its own streams. The workers end by themselves.
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import { register, shutdown } from 'grpc-xds';
import { callFromHere } from '../echo/worker-client.mjs';

const result = callFromHere({ grpc, protoLoader, register, shutdown });

async function inWorker() {
  const worker = new Worker(fileURLToPath(import.meta.url));
  const [[answer], [code]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
  if (code !== 0) throw new Error(`a worker ended with ${code}`);
  return answer;
}

if (isMainThread) console.log((await Promise.all([result, inWorker(), inWorker()])).join('; '));
else parentPort.postMessage(await result);
