// The programs under test, as child processes.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';

const running = new Set();

/** Ends every child. */
export const stopChildren = () => {
  for (const child of running) child.kill('SIGKILL');
};
process.once('exit', stopChildren);

/** A program that was started. What it last wrote is kept, for the report of a failure. */
export class Child {
  #process;
  #output = '';

  /** @param command The program and its first arguments. */
  constructor([program, ...first], args, env = {}) {
    this.#process = spawn(program, [...first, ...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(this.#process);
    const keep = (chunk) => (this.#output = (this.#output + String(chunk)).slice(-4000));
    this.#process.stdout.on('data', keep);
    this.#process.stderr.on('data', keep);
    this.ended = new Promise((resolve) => {
      this.#process.once('error', (error) => {
        keep(error.message);
        resolve(-1);
      });
      this.#process.once('close', (code) => resolve(code));
    }).finally(() => running.delete(this.#process));
  }

  get output() {
    return this.#output.trim();
  }

  /** Ends it at once, as a crash would. */
  async stop() {
    this.#process.kill('SIGKILL');
    await this.ended;
  }
}

// Below those that systems give to outgoing connections: such a port could be gone before a program listens on it.
const FIRST_PORT = 20_000;
const PORT_COUNT = 10_000;
let nextPort = Math.floor(Math.random() * PORT_COUNT);

const isFree = (port) =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, () => server.close(() => resolve(true)));
  });

/** A port that is free now, and that no other case of this run is given. */
export const freePort = async () => {
  for (let tries = 0; tries < PORT_COUNT; tries++) {
    const port = FIRST_PORT + (nextPort++ % PORT_COUNT);
    if (await isFree(port)) return port;
  }
  throw new Error(`no port from ${FIRST_PORT} to ${FIRST_PORT + PORT_COUNT - 1} is free`);
};
