import { connect } from 'node:net';
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

const rollingRestart: ServerCase = {
  name: 'tryShutdown of one of two servers by turns',
  seconds: 60,
  shortSeconds: 4,
  async run(stage) {
    const listeners = stage.ports.map((port) => stage.listener(serverChain(), port));
    const clusters = [stage.plainCluster('echo', stage.ports)];
    stage.serve({ listeners, clusters });
    const start = (index: number) =>
      stage.startServer({ address: `127.0.0.1:${stage.ports[index]}` });
    const servers: Server[] = [await start(0), await start(1)];
    await stage.startLoad({ clients: clientsOfBoth(stage) });
    const exitCodes: (number | null)[] = [];
    const restarts = await stage.repeat(500, async (round) => {
      // A client that never sends a byte.
      const silent = connect(Number(stage.ports[round % 2]), '127.0.0.1').on('error', () => {});
      const { connections } = await stage.report();
      const ending = servers[round % 2];
      await ending?.request('shutdown');
      exitCodes.push((await ending?.untilExit()) ?? null);
      silent.destroy();
      servers[round % 2] = await start(round % 2);
      await eventually(
        async () => (await stage.report()).connections,
        (counts) => counts.every((count, i) => count > (connections[i] ?? 0)),
        60_000,
      );
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

/** What there is of a server with one listener. */
const ONE_GENERATION = { Generation: 1, ServedChain: 1, TlsAcceptor: 1, RouteWatch: 1 };
/** Bytes by which the heap may grow with an update: less than any object of a generation with its chain and routes. */
const MAX_GROWTH_BYTES = 1024;

const leaks: ServerCase = {
  name: 'updates that each replace everything leave nothing',
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
    const server = await stage.startServer({ drainGraceTimeMs: 1000 });
    const client = stage.plainClient(mesh.client('client'));
    await stage.startLoad({ clients: [client, client], streams: 1 });
    let middle: ServerUsage | undefined;
    const updates = await stage.repeat(20, async (round) => {
      const { requests } = stage.control;
      stage.serve(config(round + 1));
      await eventually(
        () => stage.control.requests,
        (count) => count > requests,
      );
      if (round === 50) middle = await server.request('usage');
    });
    const left = await usageOfOneGeneration(server);
    const load = await stage.stopLoad();
    await server.request('shutdown');
    const exitCode = await server.untilExit();
    const growth = (left.heapBytes - (middle?.heapBytes ?? 0)) / Math.max(1, updates - 50);
    return {
      load,
      notes: `${updates} updates, ${growth.toFixed(0)} bytes each`,
      problems: problemsOf({
        [`the heap grew by ${growth.toFixed(0)} bytes with each update`]: growth < MAX_GROWTH_BYTES,
        [`left: ${JSON.stringify(left)}`]: isOneGeneration(left),
        'the process ended with an error': exitCode === 0,
      }),
    };
  },
};

function isOneGeneration({ objects, resources }: ServerUsage): boolean {
  const { ServerConnection, ServerRouteTable, ...rest } = objects;
  // The connections of the clients; that of the management server is another one.
  const isFew = ServerConnection === 2 && ServerRouteTable === 1 && resources.TCPSocketWrap === 3;
  return isFew && isDeepStrictEqual(rest, ONE_GENERATION);
}

/** Waits until what was replaced is gone. @returns what there is then, or at the end of the time. */
async function usageOfOneGeneration(server: Server): Promise<ServerUsage> {
  let usage: ServerUsage | undefined;
  await eventually(async () => (usage = await server.request('usage')), isOneGeneration).catch(
    () => undefined,
  );
  return usage ?? (await server.request('usage'));
}

/** Cases of shutdowns and of what is left. */
export const lifetimeCases: readonly ServerCase[] = [rollingRestart, leaks];
