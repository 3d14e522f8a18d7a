// A mesh of five services on this machine, and a live page that shows it while things happen: a canary, a lost zone, an
// ejected backend, a resource that is rejected. `npx grpc-xds-cli demo --page` runs this file.
//
// All services are in this one process, so that its page has the target of each. In a real mesh each process has a page of its
// own, with the targets that it calls.
import { once } from 'node:events';
import { channel } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { register, shutdown } from 'grpc-xds';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { serveAdminPage } from 'grpc-xds-page';
import { HEALTHY, meshResources } from './resources.mjs';
import { ServiceClient, Services } from './services.mjs';
import { incidents, story } from './story.mjs';

const CALL_INTERVAL_MS = 50;
const INPUT_ENDED = 'the input has ended: --step goes on by Enter, on a terminal';

/** The texts of the steps, for the live page. */
const notices = channel('grpc-xds:notice');

/** Calls the service web at a steady rate. */
class Load {
  total = 0;
  failures = new Map();
  #client = new ServiceClient('web');
  #running = new Set();
  #timer;

  /** Begins when the mesh answers: a first configuration that is rejected has none before it that stays in use. */
  async start() {
    await this.#client.call();
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
  #services;

  async start() {
    const { address } = await this.#controlPlane.start();
    register({
      bootstrap: {
        xds_servers: [{ server_uri: address, channel_creds: [{ type: 'insecure' }] }],
        node: { id: 'demo' },
      },
    });
    this.#services = new Services();
    this.load = new Load();
    await this.#change({});
  }

  /** Makes the mesh what a step says it is, and says so. */
  async use({ text, resource, target, ...state }) {
    const now = new Date().toISOString().slice(11, 19);
    console.log(`${now}Z ${text}${resource === '' ? '' : ` (${resource})`}`);
    notices.publish({ name: resource, text, target });
    await this.#change(state);
  }

  async #change({ settings, faults }) {
    await this.#services.use(faults);
    const resources = meshResources(this.#services.ports, { ...HEALTHY, ...settings });
    this.#controlPlane.setSnapshot(Snapshot.from(resources));
  }

  async stop() {
    await this.load.stop();
    await shutdown();
    this.#services.stop();
    await this.#controlPlane.close();
  }
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      page: { type: 'string', default: '0' },
      incident: { type: 'string' },
      step: { type: 'boolean', default: false },
    },
  });
  const { page, incident, step } = values;
  if (incident !== undefined && !Object.hasOwn(incidents, incident)) {
    throw new Error(`there is no incident ${incident}: ${Object.keys(incidents).join(', ')}`);
  }
  const steps = incident === undefined ? story : incidents[incident];
  return { port: Number(page), steps, repeats: incident === undefined, byHand: step };
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

/** Serves the page before there is anything to show: a port that is taken ends the demo before it has begun. */
async function servePage(port) {
  try {
    return await serveAdminPage({ port });
  } catch ({ message }) {
    console.error(`error: ${message}; --page chooses another port`);
    return undefined;
  }
}

async function main() {
  const options = readOptions();
  const page = await servePage(options.port);
  if (page === undefined) {
    process.exitCode = 2;
    return;
  }
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => ending.abort());
  const world = new World();
  await world.start();
  console.log(`Live page: ${page.url}`);
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
