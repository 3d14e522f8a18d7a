import { Server, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import { OrcaReporter } from '../../src/orca';
import { echoMethod, type EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { simpleResources, useMesh } from '../support/mesh';
import { edsClusterJson, lbPolicyJson, type Json } from '../support/xds-json';
import { bind } from '../support/listen';

jest.setTimeout(120_000);

const WEIGHTED_ROUND_ROBIN = 'client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin';
const CALLS = 350;

/** A server of which each call takes a part that depends on its capacity. */
class CapableBackend {
  calls = 0;
  capacity: number;
  port = 0;
  readonly reporter: OrcaReporter;
  private readonly server: Server;

  /** @param reportsWithCalls If not, its load can only be had out of band. */
  constructor(capacity: number, reportsWithCalls: boolean) {
    this.capacity = capacity;
    this.reporter = new OrcaReporter({
      minReportIntervalMs: 100,
      measure: () => {
        const queriesPerSecond = this.calls + 1;
        return { queriesPerSecond, applicationUtilization: queriesPerSecond / this.capacity };
      },
    });
    const { interceptor } = this.reporter;
    this.server = new Server(reportsWithCalls ? { interceptors: [interceptor] } : {});
    if (!reportsWithCalls) this.reporter.addTo(this.server);
    this.server.addService(
      { say: echoMethod },
      {
        say: (_call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
          this.calls++;
          callback(null, Buffer.from(''));
        },
      },
    );
  }

  async listen(): Promise<void> {
    this.port = await bind(this.server);
  }

  stop(): void {
    this.server.forceShutdown();
  }
}

function weightedRoundRobin(enableOob: boolean): Json {
  return {
    load_balancing_policy: lbPolicyJson('wrr_locality.v3.WrrLocality', {
      endpoint_picking_policy: lbPolicyJson(WEIGHTED_ROUND_ROBIN, {
        enable_oob_load_report: enableOob,
        oob_reporting_period: '0.1s',
        blackout_period: '0s',
        weight_update_period: '0.1s',
      }),
    }),
  };
}

describe('weighted_round_robin and servers that report their load', () => {
  const mesh = useMesh();
  const backends: CapableBackend[] = [];
  afterEach(() => {
    for (const backend of backends.splice(0)) backend.stop();
  });

  async function start(capacities: readonly number[], enableOob: boolean): Promise<EchoClient> {
    for (const capacity of capacities) {
      const backend = new CapableBackend(capacity, !enableOob);
      await backend.listen();
      backends.push(backend);
    }
    const resources = simpleResources(backends.map(({ port }) => port));
    mesh.serve({ ...resources, clusters: [edsClusterJson('echo', weightedRoundRobin(enableOob))] });
    return mesh.client();
  }

  /** The calls of each backend out of some made now, over what would be its due; 1 is perfect. */
  async function shares(client: EchoClient): Promise<readonly number[]> {
    const before = backends.map(({ calls }) => calls);
    for (let i = 0; i < CALLS / 50; i++) {
      await Promise.all(Array.from({ length: 50 }, () => client.say()));
    }
    const total = backends.reduce((sum, { capacity }) => sum + capacity, 0);
    return backends.map(
      ({ calls, capacity }, i) => (calls - (before[i] ?? 0)) / ((CALLS * capacity) / total),
    );
  }

  const isFair = (all: readonly number[]) => all.every((share) => Math.abs(share - 1) < 0.05);

  /** Waits until the shares are fair twice in a row: once could be on the way from one extreme to the other. */
  async function untilFair(client: EchoClient): Promise<void> {
    await eventually(
      async () => [await shares(client), await shares(client)],
      (pair) => pair.every(isFair),
      60_000,
    );
  }

  describe.each([
    ['with each call', false],
    ['out of band', true],
  ])('%s', (_how, enableOob) => {
    it('gives each server the calls it has room for, and follows when that changes', async () => {
      const client = await start([1, 2, 4], enableOob);
      await untilFair(client);
      for (const [i, capacity] of [4, 2, 1].entries()) {
        const backend = backends[i];
        if (backend !== undefined) backend.capacity = capacity;
      }
      await untilFair(client);
    });
  });
});
