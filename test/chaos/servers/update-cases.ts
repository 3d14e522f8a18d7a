import { setTimeout as sleep } from 'node:timers/promises';
import { listenerKind } from '../../../src/control-plane';
import { eventually } from '../../support/eventually';
import type { Json } from '../../support/xds-json';
import {
  inlineRoutes,
  rdsRoutes,
  serverChain,
  serverRouteConfig,
} from '../../support/xds-server-world';
import { problemsOf, type ServerCase } from './server-case';
import { lastRoutes, type ServerStage } from './server-stage';

const GRACE_MS = 1000;
/** Updates in which one matters. */
const ONE_IN = 10;

/** A Listener that differs from others by its name. */
const named = (stage: ServerStage, name: string, manager: Json = inlineRoutes()) =>
  stage.listener(serverChain(manager, { name }));

/** A Listener that is rejected. */
const invalid = (stage: ServerStage, manager: Json = inlineRoutes()) =>
  stage.listener(serverChain({ ...manager, http_filters: [] }));

/** Sends the Listeners there are as the newest version, whether they have changed or not: also that one was deleted. */
function resend(stage: ServerStage): void {
  stage.control.pushAgain(listenerKind.typeUrl);
}

const updateStorm: ServerCase = {
  name: 'update storm: 10 Listeners a second, one in ten matters',
  seconds: 60,
  shortSeconds: 2,
  async run(stage) {
    stage.serve({ listeners: [named(stage, '0')] });
    const server = await stage.startServer({ drainGraceTimeMs: GRACE_MS });
    await stage.startLoad({ streams: 4 });
    const refusals = stage.watchPort();
    let matters = 0;
    let firstAtMs = 0;
    const updates = await stage.repeat(100, (round) => {
      if (round % ONE_IN === ONE_IN - 1) matters++;
      if (matters === 1) firstAtMs ||= performance.timeOrigin + performance.now();
      stage.serve({ listeners: [named(stage, String(matters))] });
      resend(stage);
    });
    await eventually(
      async () => (await stage.report()).streamEnds.length,
      (count) => count === 4,
    );
    const load = await stage.stopLoad();
    const states = await server.request('states');
    const isTooEarly = load.streamEnds.some(({ atMs }) => atMs < firstAtMs + GRACE_MS);
    return {
      load,
      notes: `${updates} updates, ${matters} matter`,
      problems: problemsOf({
        'the port refused': refusals() === 0,
        'connections were replaced for no reason': Math.max(...load.connections) <= matters + 1,
        'connections were not replaced': Math.min(...load.connections) > 1,
        'streams ended before the grace time': !isTooEarly,
        'the state changed': states.join() === 'SERVING',
      }),
    };
  },
};

const rejected: ServerCase = {
  name: 'Listeners and routes that change and are rejected by turns',
  seconds: 30,
  shortSeconds: 2,
  async run(stage) {
    const rds = rdsRoutes('routes');
    const good = named(stage, 'good', rds);
    const routesOf = (round: number) => {
      const own = { non_forwarding_action: {} };
      // No regular expression.
      if (round % 4 === 3) return [{ match: { safe_regex: { regex: '(' } }, ...own }];
      return [{ match: { prefix: '' }, ...own, name: `route-${round}` }];
    };
    const config = (round: number) => ({
      listeners: [round % 4 === 1 ? invalid(stage, rds) : good],
      routes: [serverRouteConfig('routes', routesOf(round))],
    });
    stage.serve(config(0));
    const server = await stage.startServer();
    await stage.startLoad();
    const refusals = stage.watchPort();
    await stage.repeat(50, (round) => stage.serve(config(round)));
    const { rejections } = stage.control;
    stage.serve({ ...config(0), listeners: [named(stage, 'last', lastRoutes)] });
    await stage.untilLast();
    const load = await stage.stopLoad();
    const states = await server.request('states');
    return {
      load,
      notes: `${rejections} rejected`,
      problems: problemsOf({
        'the port refused': refusals() === 0,
        'nothing was rejected': rejections > 0,
        'connections were replaced for no reason': Math.max(...load.connections) <= 2,
        'the state changed': states.join() === 'SERVING',
      }),
    };
  },
};

const deleted: ServerCase = {
  name: 'a Listener that is deleted and added again, with calls that wait',
  isVariation: true,
  seconds: 30,
  shortSeconds: 3,
  async run(stage) {
    stage.serve({ listeners: [named(stage, 'same')] });
    const server = await stage.startServer();
    await stage.startLoad({ waitForReady: true });
    const isServing = async () => (await server.request('states')).at(-1) === 'SERVING';
    const rounds = await stage.repeat(500, async () => {
      stage.serve({ listeners: [] });
      resend(stage);
      await eventually(isServing, (serving) => !serving);
      // What is rejected meanwhile serves nothing.
      stage.serve({ listeners: [invalid(stage)] });
      await sleep(100);
      stage.serve({ listeners: [named(stage, 'same')] });
      await eventually(isServing, Boolean);
    });
    const load = await stage.stopLoad();
    return {
      load,
      notes: `${rounds} deletions`,
      problems: problemsOf({
        'connections stayed': Math.min(...load.connections) > 1,
        'there are more connections than deletions': Math.max(...load.connections) <= rounds + 1,
      }),
    };
  },
};

/** Cases in which Listeners and routes change. */
export const updateCases: readonly ServerCase[] = [updateStorm, rejected, deleted];
