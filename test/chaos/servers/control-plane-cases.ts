import { existsSync, readFileSync } from 'node:fs';
import { bootstrapFor } from '../../support/mesh';
import { eventually } from '../../support/eventually';
import { inlineRoutes, serverChain } from '../../support/xds-server-world';
import { UnreliableServer } from '../unreliable-server';
import { problemsOf, type ServerCase } from './server-case';
import { lastRoutes, type ServerStage } from './server-stage';

const first = (stage: ServerStage) => ({ listeners: [stage.listener(serverChain())] });
const last = (stage: ServerStage) => ({ listeners: [stage.listener(serverChain(lastRoutes))] });

const gone: ServerCase = {
  name: 'control plane gone the whole time, and restarted',
  seconds: 60,
  shortSeconds: 2,
  async run(stage) {
    stage.serve(first(stage));
    const server = await stage.startServer();
    await stage.startLoad();
    stage.link.refuse();
    const refusals = stage.watchPort();
    const calls: string[] = [];
    await stage.repeat(200, async () => void calls.push(await stage.call()));
    const { connections } = await stage.report();
    stage.control.forget();
    // A version of the incremental variant that is used again for other content is not sent to a client that has it.
    if (stage.options.features.length > 0) stage.serve(first(stage));
    stage.serve(last(stage));
    await stage.link.listen();
    const delay = await stage.untilLast();
    const load = await stage.stopLoad();
    const states = await server.request('states');
    return {
      load,
      notes: `${calls.length} new connections meanwhile, ${delay}`,
      problems: problemsOf({
        'the port refused': refusals() === 0,
        'a new connection was not served': calls.every((code) => code === 'OK'),
        'connections were replaced meanwhile': connections.every((count) => count === 1),
        'the state changed': states.join() === 'SERVING',
      }),
    };
  },
};

const saved: ServerCase = {
  name: 'start from the saved snapshot, without a control plane',
  isVariation: true,
  seconds: 30,
  shortSeconds: 2,
  async run(stage) {
    const snapshotPath = stage.folder.path('snapshot');
    stage.serve(first(stage));
    const earlier = await stage.startServer({ snapshotPath });
    await eventually(
      () => existsSync(snapshotPath) && readFileSync(snapshotPath, 'latin1'),
      (content) => content !== false && content.includes(`server/127.0.0.1:${stage.ports[0]}`),
    );
    await earlier.request('shutdown');
    const exitCode = await earlier.untilExit();
    stage.link.refuse();
    const server = await stage.startServer({ snapshotPath });
    const plain = stage.plainClient();
    await stage.startLoad({ clients: [plain, plain] });
    await stage.repeat(200);
    const { connections } = await stage.report();
    stage.serve(last(stage));
    await stage.link.listen();
    await stage.untilLast();
    const load = await stage.stopLoad();
    const states = await server.request('states');
    return {
      load,
      problems: problemsOf({
        'the first process ended with an error': exitCode === 0,
        'connections were replaced meanwhile': connections.every((count) => count === 1),
        'the state changed': states.join() === 'SERVING',
      }),
    };
  },
};

const flapping: ServerCase = {
  name: 'streams and connections to the control plane that end all the time',
  isVariation: true,
  seconds: 60,
  shortSeconds: 4,
  async run(stage) {
    stage.serve(first(stage));
    const server = await stage.startServer();
    await stage.startLoad();
    const refusals = stage.watchPort();
    await stage.repeat(200, (round) => {
      if (round % 3 === 0) stage.control.endStreams();
      else if (round % 3 === 1) stage.link.reset();
      else stage.control.sayGoodbye(0);
    });
    const { connections } = await stage.report();
    stage.serve(last(stage));
    await stage.untilLast();
    const load = await stage.stopLoad();
    const states = await server.request('states');
    return {
      load,
      notes: `${stage.control.streams} streams`,
      problems: problemsOf({
        'the port refused': refusals() === 0,
        'connections were replaced for no reason': connections.every((count) => count === 1),
        'the state changed': states.join() === 'SERVING',
      }),
    };
  },
};

/** The server starts by its second management server; then the first one is there, and gone again, by turns. */
const fallback: ServerCase = {
  name: 'fallback between two management servers (A71)',
  isVariation: true,
  seconds: 60,
  shortSeconds: 6,
  async run(stage) {
    const second: UnreliableServer = new UnreliableServer(() => undefined);
    await second.start();
    stage.onStop(() => second.stop());
    const servers = [stage.link.address, `127.0.0.1:${second.port}`];
    const { features } = stage.options;
    stage.bootstrapExtra = {
      xds_servers: servers.flatMap((uri) => bootstrapFor(uri, features).xds_servers ?? []),
    };
    const named = (name: string) => ({
      listeners: [stage.listener(serverChain(inlineRoutes(), { name }))],
    });
    second.serve(stage.resourcesOf(named('same')));
    stage.serve(named('same'));
    stage.link.refuse();
    const server = await stage.startServer();
    await stage.startLoad();
    const refusals = stage.watchPort();
    await stage.repeat(1000, async (round) => {
      if (round % 2 === 1) stage.link.refuse();
      else if (!stage.link.isListening) await stage.link.listen();
    });
    const { connections } = await stage.report();
    if (!stage.link.isListening) await stage.link.listen();
    stage.serve(last(stage));
    await stage.untilLast();
    const load = await stage.stopLoad();
    const states = await server.request('states');
    return {
      load,
      notes: `${stage.control.streams} and ${second.streams} streams`,
      problems: problemsOf({
        'the port refused': refusals() === 0,
        'the second server was not used': second.streams > 0,
        'connections were replaced for no reason': connections.every((count) => count === 1),
        'the state changed': states.join() === 'SERVING',
      }),
    };
  },
};

/** Cases in which the control plane fails. */
export const controlPlaneCases: readonly ServerCase[] = [gone, saved, flapping, fallback];
