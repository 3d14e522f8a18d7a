// A mesh of five services on this machine, each in a process with a live page that shows it while things happen: a canary, a lost
// zone, an ejected backend, a resource that is rejected. `npx grpc-xds-cli demo --page` runs this file, which is the control plane
// and the load.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { register, shutdown } from 'grpc-xds';
import { ControlPlane } from 'grpc-xds/control-plane';
import { ServiceClient } from './client.mjs';
import { HEALTHY, meshSnapshot } from './resources.mjs';
import { Services } from './services.mjs';
import { incidents, story } from './story.mjs';

const CALL_INTERVAL_MS = 50;
/** Attempts of the first call, and the time between them: the services have just started, on a machine that may be busy. */
const FIRST_CALLS = 10;
const FIRST_CALL_INTERVAL_MS = 500;
const INPUT_ENDED = 'the input has ended: --step goes on by Enter, on a terminal';

/** Calls the service web at a steady rate. */
class Load {
  total = 0;
  failures = new Map();
  #client = new ServiceClient('web');
  #running = new Set();
  #timer;

  /** Begins when the mesh answers: a first configuration that is rejected has none before it that stays in use. */
  async start() {
    await this.#firstCall(FIRST_CALLS);
    this.#timer = setInterval(() => {
      const call = this.#client.call().catch(({ message }) => {
        this.failures.set(message, (this.failures.get(message) ?? 0) + 1);
      });
      this.#running.add(call);
      void call.finally(() => {
        this.total++;
        this.#running.delete(call);
      });
    }, CALL_INTERVAL_MS);
  }

  async #firstCall(attempts) {
    try {
      await this.#client.call();
    } catch (error) {
      if (attempts === 1) throw error;
      await sleep(FIRST_CALL_INTERVAL_MS);
      await this.#firstCall(attempts - 1);
    }
  }

  /** Waits for the calls that are in progress. */
  async stop() {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
    this.#client.close();
  }

  get failed() {
    return [...this.failures.values()].reduce((sum, count) => sum + count, 0);
  }
}

/** The control plane, the services and the load. */
class World {
  load;
  #controlPlane = new ControlPlane({});
  #services = new Services();

  /** The addresses of the pages, by the names of the services. */
  get pages() {
    return Object.entries(this.#services.pages).map(([name, { url }]) => [name, url]);
  }

  /** @throws Error if the port of a page is taken. */
  async start(page) {
    await this.#services.prepare(page);
    const { bootstrap } = await this.#controlPlane.start();
    await this.#services.start(bootstrap);
    register({ bootstrap: this.#services.bootstrapOf('load', bootstrap) });
    this.load = new Load();
    await this.#change({});
  }

  /** Makes the mesh what a step says it is, and says so. */
  async use({ text, resource, target, ...state }) {
    const now = new Date().toISOString().slice(11, 19);
    console.log(`${now}Z ${text}${resource === '' ? '' : ` (${resource})`}`);
    await this.#change({ ...state, notice: { name: resource, text, target } });
  }

  async #change({ settings, faults, notice }) {
    const { ports } = this.#services;
    const snapshot = meshSnapshot(ports, { ...HEALTHY, ...settings });
    // A server serves once it has its Listener: the first snapshot is there before the servers are.
    if (notice === undefined) this.#controlPlane.setSnapshot(snapshot);
    await this.#services.use({ faults, notice });
    this.#controlPlane.setSnapshot(snapshot);
  }

  async stop() {
    await this.load?.stop();
    await this.#services.stop();
    await shutdown();
    await this.#controlPlane.close();
  }
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      page: { type: 'string', default: '0' },
      incident: { type: 'string', multiple: true },
      step: { type: 'boolean', default: false },
    },
  });
  const { page, incident, step } = values;
  const steps = incident?.flatMap((name) => {
    if (Object.hasOwn(incidents, name)) return incidents[name];
    throw new Error(`there is no incident ${name}: ${Object.keys(incidents).join(', ')}`);
  });
  const repeats = steps === undefined;
  return { port: Number(page), steps: steps ?? story, repeats, byHand: step };
}

/** Waits for Enter. @throws once the input has ended: nothing would ever end the step. */
async function entered(signal) {
  const input = process.stdin;
  const over = new AbortController();
  const options = { signal: AbortSignal.any([signal, over.signal]) };
  try {
    const next = once(input, 'data', options).then(() => false);
    const end = input.readableEnded ? true : once(input, 'end', options).then(() => true);
    if (await Promise.race([next, end])) throw new Error(INPUT_ENDED);
  } finally {
    over.abort();
  }
}

/** Plays the steps, until the last one if they do not repeat; each is over after its time, or by Enter. */
async function play(world, { steps, repeats, byHand }, signal) {
  do {
    for (const step of steps) {
      // Enter counts from the text of the step on.
      const isOver = byHand ? entered(signal) : sleep(step.seconds * 1000, undefined, { signal });
      await Promise.all([world.use(step), isOver]);
    }
  } while (repeats);
}

function report({ total, failed, failures }) {
  console.log(`${total} calls, ${failed} failed.`);
  for (const [message, count] of failures) console.log(`  ${count}x ${message}`);
}

/** Starts the mesh. @returns undefined if it cannot be, which has been said. */
async function startWorld(port) {
  const world = new World();
  try {
    await world.start(port);
    return world;
  } catch ({ message }) {
    const isTaken = message.includes('EADDRINUSE');
    console.error(`error: ${message}${isTaken ? '; --page chooses another port' : ''}`);
    await world.stop();
    return undefined;
  }
}

async function main() {
  const options = readOptions();
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => ending.abort());
  console.log('Starting a control plane and five services …');
  const world = await startWorld(options.port);
  if (world === undefined) {
    process.exitCode = 2;
    return;
  }
  const [[first, url], ...others] = world.pages;
  console.log(`Live page: ${url} (${first}; it has links to the others)`);
  for (const [name, other] of others) console.log(`  ${name}: ${other}`);
  console.log(options.byHand ? 'Enter goes on, Ctrl-C ends.' : 'Ctrl-C ends.');
  await world.load.start();
  try {
    await play(world, options, ending.signal);
  } catch (error) {
    if (error.message === INPUT_ENDED) {
      console.error(`error: ${INPUT_ENDED}`);
      process.exitCode = 2;
    } else if (!ending.signal.aborted) throw error;
  } finally {
    await world.stop();
    process.stdin.destroy();
    report(world.load);
  }
  if (world.load.failed > 0) process.exitCode = 1;
}

await main();
