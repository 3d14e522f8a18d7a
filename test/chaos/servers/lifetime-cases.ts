import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { eventually } from '../../support/eventually';
import {
  rdsRoutes,
  serverChain,
  serverRouteConfig,
  strictTls,
} from '../../support/xds-server-world';
import type { ClientStart } from './client-process';
import { MeshCertificates } from './mesh-certificates';
import type { RemoteProcess } from './remote-process';
import { problemsOf, type ServerCase } from './server-case';
import type { ServerRequests, ServerUsage } from './server-process';
import type { ServerStage } from './server-stage';

type Server = RemoteProcess<ServerRequests>;

/** Clients that know both ports: plain ones and those of xDS. */
function clientsOfBoth(stage: ServerStage): readonly ClientStart[] {
  const plain = { target: `ipv4:${stage.ports.map((port) => `127.0.0.1:${port}`).join()}` };
  return [plain, plain, plain, stage.xdsClient];
}

/**
 * Waits until a server has answered each client, as a rolling update waits for readiness: a new connection alone may be one
 * to the other server.
 */
async function untilConnected(stage: ServerStage, { pid = 0 }: Server): Promise<void> {
  await eventually(
    async () => (await stage.report()).processes,
    (processes) => processes.every((each) => each.includes(pid)),
    60_000,
  );
}

const rollingRestart: ServerCase = {
  name: 'tryShutdown of one of two servers by turns',
  seconds: 60,
  shortSeconds: 2,
  async run(stage) {
    const listeners = stage.ports.map((port) => stage.listener(serverChain(), port));
    const clusters = [stage.plainCluster('echo', stage.ports)];
    stage.serve({ listeners, clusters });
    const start = (index: number) =>
      stage.startServer({ address: `127.0.0.1:${stage.ports[index]}` });
    const servers: Server[] = [await start(0), await start(1)];
    await stage.startLoad({ clients: clientsOfBoth(stage) });
    for (const server of servers) await untilConnected(stage, server);
    const exitCodes: (number | null)[] = [];
    const restarts = await stage.repeat(500, async (round) => {
      // A client that never sends a byte.
      const silent = connect(Number(stage.ports[round % 2]), '127.0.0.1').on('error', () => {});
      const ending = servers[round % 2];
      await ending?.request('shutdown');
      exitCodes.push((await ending?.untilExit()) ?? null);
      silent.destroy();
      const started = await start(round % 2);
      servers[round % 2] = started;
      await untilConnected(stage, started);
    });
    const load = await stage.stopLoad();
    return {
      load,
      notes: `${restarts} restarts`,
      problems: problemsOf({
        'a process ended with an error': exitCodes.every((code) => code === 0),
      }),
    };
  },
};

/** Bytes by which the heap may grow with an update: less than a generation with its chain and routes. */
const MAX_GROWTH_BYTES = 1024;
/** What the heap grows by is known after that many updates. */
const MIN_UPDATES = 500;

const leaks: ServerCase = {
  name: 'updates that each replace everything leave nothing',
  isVariation: true,
  seconds: 60,
  shortSeconds: 3,
  async run(stage) {
    const mesh = await MeshCertificates.start(stage, 'files');
    const config = (round: number) => ({
      listeners: [
        stage.listener(
          serverChain(rdsRoutes(`routes-${round}`), { name: String(round), ...strictTls() }),
        ),
      ],
      routes: [serverRouteConfig(`routes-${round}`)],
    });
    stage.serve(config(0));
    const server = await stage.startServer();
    const client = stage.plainClient(mesh.client('client'));
    await stage.startLoad({ clients: [client, client], streams: 1 });
    const middleMs = performance.now() + stage.options.seconds * 500;
    let middle: { readonly round: number; readonly heapBytes: number } | undefined;
    const updates = await stage.repeat(50, async (round) => {
      const { requests } = stage.control;
      stage.serve(config(round + 1));
      await eventually(
        () => stage.control.requests,
        (count) => count > requests,
      );
      if (middle !== undefined || performance.now() < middleMs) return;
      middle = { round, heapBytes: await server.request('heapBytes') };
    });
    const load = await stage.stopLoad();
    const left = await usageOfOneSnapshot(server);
    await server.request('shutdown');
    const exitCode = await server.untilExit();
    const { round = 0, heapBytes = 0 } = middle ?? {};
    const growth = (left.heapBytes - heapBytes) / (updates - round);
    const isGrowing = updates - round > MIN_UPDATES && growth > MAX_GROWTH_BYTES;
    return {
      load,
      notes: `${updates} updates, ${growth.toFixed(0)} bytes each`,
      problems: problemsOf({
        [`the heap grew by ${growth.toFixed(0)} bytes with each update`]: !isGrowing,
        [`left: ${JSON.stringify(left)}`]: isOneSnapshot(left),
        'the process ended with an error': exitCode === 0,
      }),
    };
  },
};

/** Whether there is one listener, without connections other than that of the management server. */
function isOneSnapshot({ objects, resources }: ServerUsage): boolean {
  const { TlsHandshakes = 0, ...others } = objects;
  // Created with the first connection.
  if (TlsHandshakes > 1 || (resources.TCPSocketWrap ?? 0) > 1) return false;
  return isDeepStrictEqual(others, {
    ListenerSnapshot: 1,
    ServedChain: 1,
    ServerConnection: 0,
    RouteWatch: 1,
    ServerRouteTable: 1,
  });
}

/** Waits until what was replaced is gone. @returns what there is then, or at the end of the time. */
async function usageOfOneSnapshot(server: Server): Promise<ServerUsage> {
  for (let attempt = 0; ; attempt++) {
    const usage = await server.request('usage');
    if (attempt === 40 || isOneSnapshot(usage)) return usage;
    await sleep(500);
  }
}

/** Cases of shutdowns and of what is left. */
export const lifetimeCases: readonly ServerCase[] = [rollingRestart, leaks];
