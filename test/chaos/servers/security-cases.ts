import { eventually } from '../../support/eventually';
import { serverChain } from '../../support/xds-server-world';
import { strictChain, strictCluster } from './certificate-cases';
import { MeshCertificates } from './mesh-certificates';
import { problemsOf, type ServerCase } from './server-case';
import type { ServerStage } from './server-stage';

/** Waits until every client has calls on a connection that it did not have. */
async function untilMoved(stage: ServerStage, before: readonly number[]): Promise<void> {
  await eventually(
    async () => (await stage.report()).connections,
    (connections) => connections.every((count, i) => count > (before[i] ?? 0)),
    60_000,
  );
}

/** The clients leave a port before its security changes, by a cluster of the other one: no call needs to wait. */
const overSecondPort: ServerCase = {
  name: 'PERMISSIVE to STRICT and back by a second port',
  isVariation: true,
  seconds: 60,
  shortSeconds: 3,
  async run(stage) {
    await MeshCertificates.start(stage, 'files');
    const [port, other] = stage.ports;
    const plain = stage.plainCluster('plain');
    const strict = strictCluster('strict', other);
    const config = (isStrict: boolean, chain = serverChain()) => ({
      listeners: [stage.listener(chain, port), stage.listener(strictChain(), other)],
      clusters: isStrict ? [strict, plain] : [plain, strict],
    });
    stage.serve(config(false));
    const server = await stage.startServer();
    await server.request('bind', `127.0.0.1:${other}`);
    await stage.startLoad({ clients: Array.from({ length: 4 }, () => stage.xdsClient) });
    const changes = await stage.repeat(200, async () => {
      let { connections } = await stage.report();
      stage.serve(config(true));
      await untilMoved(stage, connections);
      // Nothing calls the first port now.
      stage.serve(config(true, strictChain()));
      await untilSecurity(stage, true);
      stage.serve(config(true));
      await untilSecurity(stage, false);
      ({ connections } = await stage.report());
      stage.serve(config(false));
      await untilMoved(stage, connections);
    });
    return { load: await stage.stopLoad(), problems: [], notes: `${changes} times there and back` };
  },
};

/** Server and clients get the change in any order: calls wait until both have it. */
const onOnePort: ServerCase = {
  name: 'PERMISSIVE to STRICT and back on one port, with calls that wait',
  isVariation: true,
  seconds: 60,
  shortSeconds: 3,
  async run(stage) {
    await MeshCertificates.start(stage, 'files');
    const [port] = stage.ports;
    const config = (isStrict: boolean) => ({
      listeners: [stage.listener(isStrict ? strictChain() : serverChain())],
      clusters: [isStrict ? strictCluster('echo', port) : stage.plainCluster('echo')],
    });
    stage.serve(config(false));
    const server = await stage.startServer();
    const clients = Array.from({ length: 4 }, () => stage.xdsClient);
    await stage.startLoad({ clients, waitForReady: true });
    const refusals = stage.watchPort();
    const changes = await stage.repeat(200, async (round) => {
      const { connections } = await stage.report();
      stage.serve(config(round % 2 === 0));
      await untilMoved(stage, connections);
    });
    const load = await stage.stopLoad();
    const states = await server.request('states');
    return {
      load,
      notes: `${changes} changes`,
      problems: problemsOf({
        'the port refused': refusals() === 0,
        'the state changed': states.join() === 'SERVING',
      }),
    };
  },
};

/** Waits until the first port serves plain text, or does not. */
async function untilSecurity(stage: ServerStage, isStrict: boolean): Promise<void> {
  await eventually(
    () => stage.call(stage.plainClient()),
    (code) => (code === 'OK') !== isStrict,
  );
}

/** Cases in which the security of a server changes. */
export const securityCases: readonly ServerCase[] = [overSecondPort, onOnePort];
