// Processes behind an agent that keeps one stream, while the control plane behind it restarts.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from '../support/child.mjs';
import { printTable } from '../support/table.mjs';

const here = (name) => new URL(name, import.meta.url).pathname;
/** How long the endpoint before the change stays: longer than the longest pause between streams. */
const KEPT_MS = 15_000;
const WINDOW_MS = 30_000;

/** Restarts the control plane again and again, then moves the endpoint. */
async function measure({ processes, isShared, restarts, intervalMs }) {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
  const agent = await startChild(here('./agent-child.cjs'));
  const environment = isShared ? { GRPC_XDS_SHARE: join(folder, 'share.sock') } : {};
  const callers = await Promise.all(
    Array.from({ length: processes }, (_, i) => {
      const bootstrap = {
        xds_servers: [{ server_uri: agent.ready.address, channel_creds: [{ type: 'insecure' }] }],
        node: { id: isShared ? 'bench' : `bench-${i}` },
      };
      return startChild(here('./caller-child.cjs'), [JSON.stringify(bootstrap)], environment);
    }),
  );
  try {
    for (let i = 0; i < restarts; i++) {
      await sleep(intervalMs);
      await agent.ask('restart');
    }
    await sleep(intervalMs);
    const { atMs } = await agent.ask('change');
    await sleep(KEPT_MS);
    await agent.ask('endFirst');
    await sleep(WINDOW_MS - KEPT_MS);
    const { openedAt } = await agent.ask('streams');
    const reports = await Promise.all(callers.map((caller) => caller.ask('report')));
    return { ...summaryOf(reports, atMs), streams: openedAt.length, most: mostWithin(openedAt) };
  } finally {
    await Promise.all(callers.map((caller) => caller.stop()));
    await agent.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function summaryOf(reports, changedAtMs) {
  const sum = (of) => reports.reduce((total, report) => total + of(report), 0);
  const inUseMs = reports.map(({ secondAtMs = Infinity }) => secondAtMs - changedAtMs);
  return {
    calls: sum(({ calls }) => calls),
    failed: sum(({ failed }) => failed),
    failure: reports.find(({ failure }) => failure)?.failure,
    inUseMs: Math.max(...inUseMs),
  };
}

/** The largest number of streams that were opened within 30 s. */
function mostWithin(openedAt) {
  return Math.max(
    ...openedAt.map((from) => openedAt.filter((at) => at >= from && at < from + WINDOW_MS).length),
  );
}

const SCENES = [
  { name: '1 process behind an agent', processes: 1, isShared: false },
  { name: '4 processes behind an agent', processes: 4, isShared: false },
  { name: '4 processes behind an agent, GRPC_XDS_SHARE', processes: 4, isShared: true },
];

const HEADING = [
  'the control plane restarts, then an endpoint moves',
  'calls',
  'failed',
  'in use after s',
  'streams',
  'most in 30 s',
];

/** `AGENT_RESTARTS` and `AGENT_INTERVAL_MS` make it shorter. @param only Runs the rows whose names contain it. */
export async function runAgents(only) {
  const { AGENT_RESTARTS = '10', AGENT_INTERVAL_MS = '12000' } = process.env;
  const [restarts, intervalMs] = [Number(AGENT_RESTARTS), Number(AGENT_INTERVAL_MS)];
  const rows = [HEADING];
  for (const { name, ...scene } of SCENES) {
    if (!name.includes(only)) continue;
    const { calls, failed, failure, inUseMs, streams, most } = await measure({
      ...scene,
      restarts,
      intervalMs,
    });
    rows.push([name, calls, failed, (inUseMs / 1000).toFixed(1), streams, most]);
    if (failure !== undefined) console.log(`  ${name}: ${failure}`);
  }
  if (rows.length === 1) return;
  console.log(
    `\nBehind an agent that keeps one stream: ${restarts} restarts, one each ${intervalMs} ms\n`,
  );
  printTable(rows);
  console.log(
    '  Targets: none failed; in use within 2 s alone and 12 s with four; at most 24 streams in 30 s.',
  );
}
