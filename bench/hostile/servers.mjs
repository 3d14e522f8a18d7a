// What hostile clients of a server that the control plane configures, or a hostile control plane, do to its process: fifty good
// calls a second go on beside it, from this process.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bootstrapOf } from '../server/bootstrap.mjs';
import { startChild } from '../support/child.mjs';
import { makeCertificates } from '../tls/certificates.mjs';
import { Child } from './child.mjs';
import { beginGoodCalls, runAttack, runTable, SECONDS } from './rows.mjs';

const require = createRequire(import.meta.url);
const { connect, call } = require('./server-calls.cjs');
const here = (name) => new URL(name, import.meta.url).pathname;

/** The names of a certificate that has more than a server reads. */
const MANY_NAMES = Array.from({ length: 10_000 }, (_, i) => `DNS:${i.toString(36)}`);

/**
 * By name: what the server is configured as, and what `attack-child.cjs` does, or what the control plane sends instead. What Node.js
 * does in one turn before this package sees it counts beside the bound of a pause (`hostMs`; "What is not bounded" in docs/limits.md).
 */
const CASES = {
  'server: 1,000 half-open handshakes': { kind: { tls: true }, attack: 'halfOpen' },
  'server: handshakes with certificates of 10,000 names': {
    kind: { tls: true },
    attack: 'handshakes',
    isRefused: true,
    hostMs: 300,
    hostileNames: MANY_NAMES,
  },
  'server: a flood of connections': { kind: {}, attack: 'connections' },
  'server: a flood of handshakes that are broken off': {
    kind: { tls: true },
    attack: 'halfHandshakes',
  },
  'server: a flood of calls that are reset': { kind: {}, attack: 'resets', hostMs: 300 },
  'server: calls with headers at their limits': { kind: { searches: true }, attack: 'headers' },
  'server: calls with headers over their limits': {
    kind: { searches: true },
    attack: 'longHeaders',
    isRefused: true,
  },
  'server: 1,000 chains': { kind: {}, sent: { chains: 999 } },
  'server: 10,000 chains': { kind: {}, sent: { chains: 9999 }, isRefused: true },
  'server: a policy of 20,000 nodes': { kind: {}, sent: { nodes: 20_000 } },
  'server: a policy of 990,000 nodes': { kind: {}, sent: { nodes: 990_000 }, isRefused: true },
};

/** Sends a Listener again and again, and the good one in between. */
async function sendHostile(world, port, { kind, sent }) {
  const untilMs = performance.now() + SECONDS * 1000;
  let attempts = 0;
  while (performance.now() < untilMs) {
    await world.ask([{ ...kind, ...sent, port }]);
    attempts++;
    await sleep(2000);
    await world.ask([{ ...kind, port }]);
    await sleep(500);
  }
  return { attempts };
}

async function attack({ world, server, files, port }, hostile) {
  if (hostile.sent !== undefined) {
    const sent = await sendHostile(world, port, hostile);
    return { ...sent, refused: await server.ask('rejections') };
  }
  return runAttack(here('./attack-child.cjs'), { attack: hostile.attack, port, files });
}

async function runCase(hostile, heapMb) {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
  const files = makeCertificates(folder, hostile);
  const world = await startChild(here('../server/world-child.cjs'));
  const bootstrap = join(folder, 'bootstrap.json');
  writeFileSync(bootstrap, JSON.stringify(bootstrapOf(world.ready.address, files)));
  const server = new Child('./server-child.cjs', bootstrap, { heapMb });
  try {
    const port = await server.next();
    await world.ask([{ ...hostile.kind, port }]);
    await server.ask('serve');
    const tls = hostile.kind.tls ? files : undefined;
    const client = await connect(port, tls);
    const good = beginGoodCalls(() => call(client));
    await sleep(1000);
    await server.ask('begin');
    const startedMs = performance.now();
    const attempts = await attack({ world, server, files, port }, hostile);
    const result = await server.ask('read');
    good.stop();
    const seconds = (performance.now() - startedMs) / 1000;
    const recoveredMs = await timeNewConnection(port, tls);
    client.close();
    return { result, attempts, recoveredMs, seconds, goodCalls: good.tally };
  } finally {
    await server.stop();
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function timeNewConnection(port, tls) {
  const startedMs = performance.now();
  const client = await connect(port, tls);
  const error = await call(client);
  client.close();
  return error === undefined ? performance.now() - startedMs : Infinity;
}

/** Runs the cases whose names contain a text: see `runTable`. */
export function runServers(text, limits) {
  const title = 'Hostile clients of a server, and a hostile control plane above it';
  return runTable({ title, cases: CASES, runCase }, text, limits);
}
