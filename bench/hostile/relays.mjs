// What hostile clients of a relay do to its process: a good client fetches a cluster fifty times a second beside them, from this process,
// and another cluster changes ten times a second.
import { createRequire } from 'node:module';
import { startChild } from '../support/child.mjs';
import { Child } from './child.mjs';
import { beginGoodCalls, runAttack, runTable } from './rows.mjs';
import { setTimeout as sleep } from 'node:timers/promises';

const { connect, fetchCluster } = createRequire(import.meta.url)('./discovery.cjs');
const here = (name) => new URL(name, import.meta.url).pathname;

const CLUSTERS = 1000;
const CHANGE_MS = 100;

/** By name: what `relay-attack-child.cjs` does. */
const CASES = {
  'relay: 1,000 half-open connections': { attack: 'halfOpen' },
  'relay: a flood of connections': { attack: 'connections' },
  'relay: a flood of GOAWAY frames': { attack: 'goaways' },
  'relay: a flood of subscriptions that are reset': { attack: 'resets', hostMs: 300 },
  'relay: a flood of subscriptions to other names': { attack: 'subscriptions' },
  'relay: 10,000 names a second': { attack: 'names' },
  'relay: subscriptions to all resources': { attack: 'wildcards', isRefused: true },
  'relay: 300 streams that read nothing': { attack: 'unread' },
};

/** Changes a cluster again and again. @returns a function that ends it. */
function beginChanges(world) {
  let isStopped = false;
  const run = async () => {
    while (!isStopped) {
      await world.ask('update');
      await sleep(CHANGE_MS);
    }
  };
  const ended = run();
  return () => {
    isStopped = true;
    return ended;
  };
}

async function runCase({ attack }, heapMb) {
  const world = await startChild(here('../relay/world-child.cjs'), [String(CLUSTERS)]);
  const { address, names } = world.ready;
  const relay = new Child('./relay-child.cjs', address, { heapMb });
  try {
    const port = await relay.next();
    const client = connect(port);
    const good = beginGoodCalls(() => fetchCluster(client, names[0]));
    const endChanges = beginChanges(world);
    await sleep(1000);
    await relay.ask('begin');
    const startedMs = performance.now();
    const attempts = await runAttack(here('./relay-attack-child.cjs'), { attack, port, names });
    const result = await relay.ask('read');
    good.stop();
    await endChanges();
    const seconds = (performance.now() - startedMs) / 1000;
    const recoveredMs = await timeNewConnection(port, names[0]);
    client.close();
    return { result, attempts, recoveredMs, seconds, goodCalls: good.tally };
  } finally {
    await relay.stop();
    await world.stop();
  }
}

async function timeNewConnection(port, name) {
  const startedMs = performance.now();
  const client = connect(port);
  const error = await fetchCluster(client, name);
  client.close();
  return error === undefined ? performance.now() - startedMs : Infinity;
}

/** Runs the cases whose names contain a text: see `runTable`. */
export function runRelays(text, limits) {
  return runTable({ title: 'Hostile clients of a relay', cases: CASES, runCase }, text, limits);
}
