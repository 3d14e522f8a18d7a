import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import type { ControlPlane } from '../../src/control-plane';
import { eventually } from '../support/eventually';
import { bootstrapFor, SERVICE, simpleResources, registerAnew } from '../support/mesh';
import { ObedientBackend, ObedientClient } from '../support/obedient-backend';
import { seededRandom } from '../support/seeded-random';
import { edsClusterJson } from '../support/xds-json';
import { RelayProcess } from './relay-process';
import { RelayScene } from './relay-scene';

const IDS = ['one', 'two', 'three', 'four'];
/** More in the long form: `RELAY_KILLS=20`. */
const KILLS = Number(process.env['RELAY_KILLS'] ?? 2);

/** The interval of reports, in milliseconds. */
const INTERVAL_MS = 100;
/** How long before the end of a relay a call may have ended that is not reported: some intervals of its client and of the relay. */
const LOST_MS = 10 * INTERVAL_MS;

/** Makes calls one after another until it is stopped. */
class Caller {
  readonly ended: Promise<void>;
  /** When each call ended. */
  readonly endedAt: number[] = [];
  readonly failures: string[] = [];
  private isStopped = false;

  constructor(private readonly client: ObedientClient) {
    this.ended = this.run();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.ended;
  }

  private async run(): Promise<void> {
    while (!this.isStopped) {
      const { code, details } = await this.client.call('ok').outcome;
      this.endedAt.push(Date.now());
      if (code !== status.OK) this.failures.push(details);
      await sleep(10);
    }
  }
}

function reported(controlPlane: ControlPlane): number {
  let sum = 0;
  for (const { localities } of controlPlane.loads()) {
    for (const { succeeded } of localities) sum += succeeded;
  }
  return sum;
}

describe('load reports of four clients, when the process of their relay is', () => {
  it.each([
    ['killed', (relay: RelayProcess) => relay.kill()],
    ['stopped', (relay: RelayProcess) => relay.stop()],
  ])(
    '%s again and again, are the calls that were made, without at most those of the last intervals',
    async (_, end) => {
      const random = seededRandom(30);
      const scene = await RelayScene.start({ loadReporting: { intervalMs: INTERVAL_MS } });
      await scene.relay.close();
      const backend = await ObedientBackend.start();
      scene.serve({
        ...simpleResources([backend.port]),
        clusters: [edsClusterJson('echo', { lrs_server: { self: {} } })],
      });
      registerAnew({});
      const clients = IDS.map((id) => {
        const bootstrap = { ...bootstrapFor(scene.listen), node: { id } };
        return new ObedientClient(`xds:///${SERVICE}`, {
          'grpc_xds.bootstrap': JSON.stringify(bootstrap),
        });
      });
      const bootstrap = { ...bootstrapFor(scene.upstream), node: { id: 'relay' } };
      const start = () => RelayProcess.start(scene.listen, bootstrap);
      const isUsed = () => scene.controlPlane.loadClients().length === 1;
      const endings: { readonly fromMs: number; readonly toMs: number }[] = [];
      let relay = await start();
      const callers = clients.map((client) => new Caller(client));
      const ended = () => callers.flatMap((caller) => caller.endedAt);
      const lasting = () =>
        ended().filter((atMs) => {
          return !endings.some(({ fromMs, toMs }) => atMs >= fromMs && atMs <= toMs);
        });
      for (let kill = 0; kill < KILLS; kill++) {
        await eventually(isUsed, Boolean, 60_000);
        // The calls that were made without a relay are in one report.
        const due = lasting().length;
        await eventually(
          () => reported(scene.controlPlane),
          (count) => count >= due,
          60_000,
        );
        await sleep(200 + 300 * random());
        const endingAt = Date.now();
        await end(relay);
        await eventually(isUsed, (used) => !used);
        endings.push({ fromMs: endingAt - LOST_MS, toMs: Date.now() });
        relay = await start();
      }
      for (const caller of callers) await caller.stop();
      expect(new Set(callers.flatMap((caller) => caller.failures))).toEqual(new Set());
      await eventually(
        () => reported(scene.controlPlane),
        (count) => count >= lasting().length,
        30_000,
      ).catch(() => undefined);
      // What is counted twice would follow within some intervals.
      await sleep(5 * INTERVAL_MS);
      const count = reported(scene.controlPlane);
      expect(count).toBeGreaterThanOrEqual(lasting().length);
      expect(count).toBeLessThanOrEqual(ended().length);
      for (const client of clients) client.close();
      await relay.kill();
      backend.stop();
      scene.stop();
      registerAnew({});
    },
    240_000,
  );
});
