// A steady stream of calls on one channel, counted by who answered.
import grpc from '@grpc/grpc-js';
import { sayMethod } from './backends.mjs';

const CALLS_PER_TICK = 2;
const TICK_MS = 10;

export class Load {
  failures = new Map();
  total = 0;
  #counts = new Map();
  #client;
  #timer;
  #running = new Set();

  constructor(target) {
    this.#client = new grpc.Client(target, grpc.credentials.createInsecure());
  }

  start() {
    this.#timer = setInterval(() => {
      for (let i = 0; i < CALLS_PER_TICK; i++) this.#call();
    }, TICK_MS);
  }

  /** Calls answered per backend since the last time this was asked. */
  takeCounts() {
    const counts = this.#counts;
    this.#counts = new Map();
    return counts;
  }

  async stop() {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
    this.#client.close();
  }

  #call() {
    const call = new Promise((resolve) => {
      const { path, requestSerialize, responseDeserialize } = sayMethod;
      const options = { deadline: Date.now() + 5000 };
      const body = Buffer.from('hello');
      this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        body,
        options,
        (error, answer) => {
          this.total++;
          if (error) this.#add(this.failures, error.message);
          else this.#add(this.#counts, answer.toString());
          resolve();
        },
      );
    }).finally(() => this.#running.delete(call));
    this.#running.add(call);
  }

  #add(counts, key) {
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
}
