// Clients in the processes of node:cluster. Each process registers, and ends by itself.
import cluster from 'node:cluster';
import { once } from 'node:events';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import { register, shutdown } from 'grpc-xds';
import { callFromHere } from '../echo/worker-client.mjs';

const result = callFromHere({ grpc, protoLoader, register, shutdown });

async function inProcess() {
  const worker = cluster.fork();
  const [code] = await once(worker, 'exit');
  if (code !== 0) throw new Error(`a process ended with ${code}`);
}

if (cluster.isPrimary) {
  console.log((await Promise.all([result, inProcess(), inProcess()]))[0]);
} else {
  await result;
  cluster.worker.disconnect();
}
