// The policy under a plain channel of grpc-js, with backends that report over real sockets.

import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import { OobReports } from '../../../src/lb/orca/oob-reports';
import { openOobStream } from '../../../src/lb/orca/oob-stream';
import { registerRegistry } from '../../support/register-registry';
import { createWeightedRoundRobinPolicyTypes } from '../../../src/lb/weighted-round-robin/balancer';
import { systemClock } from '../../../src/util/clock';
import { systemRandom } from '../../../src/util/random';
import { EchoClient } from '../../support/echo-backend';
import { eventually } from '../../support/eventually';
import { encodeReport, ReportingBackend } from '../orca/reporting-backend';

const errors: string[] = [];
const environment = {
  clock: systemClock,
  random: systemRandom,
  logger: { trace() {}, info() {}, error: (text: () => string) => errors.push(text()) },
};
const oobReports = new OobReports({ ...environment, openStream: openOobStream });
const policies = new LbPolicyRegistry({
  policies: createWeightedRoundRobinPolicyTypes({ oobReports, customMetrics: false }),
});
registerRegistry(policies, () => ({ ...environment, policies }));

describe('weighted_round_robin with real calls', () => {
  const backends: ReportingBackend[] = [];
  let client: EchoClient;

  afterEach(() => {
    client.close();
    for (const backend of backends.splice(0)) backend.stop();
    errors.length = 0;
  });

  function createClient(config: object): EchoClient {
    const target = backends.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const policy = { blackoutPeriod: '0s', weightUpdatePeriod: '0.1s', ...config };
    return new EchoClient(`ipv4:${target}`, {
      'grpc.service_config': JSON.stringify({
        loadBalancingConfig: [{ weighted_round_robin_experimental: policy }],
      }),
    });
  }

  async function countAnswers(calls: number): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (let i = 0; i < calls; i++) {
      const name = await client.say();
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return counts;
  }

  const isThreeToOne = (counts: ReadonlyMap<string, number>) =>
    Math.abs((counts.get('a') ?? 0) - 10) <= 1 && Math.abs((counts.get('b') ?? 0) - 30) <= 1;

  it('weights by the reports that come with calls', async () => {
    for (const [name, rpsFractional] of [['a', 100] as const, ['b', 300] as const]) {
      const backend = await new ReportingBackend(name).listen();
      backend.load = { rpsFractional, applicationUtilization: 1 };
      backends.push(backend);
    }
    client = createClient({});
    await eventually(() => countAnswers(40), isThreeToOne);
  });

  it('weights by out-of-band reports', async () => {
    for (const [name, rpsFractional] of [['a', 100] as const, ['b', 300] as const]) {
      const report = encodeReport({ rpsFractional, cpuUtilization: 1 });
      backends.push(await new ReportingBackend(name, (stream) => stream.write(report)).listen());
    }
    client = createClient({ enableOobLoadReport: true, oobReportingPeriod: '5s' });
    await eventually(() => countAnswers(40), isThreeToOne);
    expect(backends.map(({ intervals }) => intervals)).toEqual([[5000], [5000]]);
    client.close();
    await eventually(
      () => backends.map(({ streams }) => streams.size),
      (sizes) => sizes.every((size) => size === 0),
    );
    expect(oobReports.size).toBe(0);
    expect(errors).toEqual([]);
  });

  it('serves on, and complains, when a backend does not report on a stream', async () => {
    backends.push(await new ReportingBackend('a').listen());
    client = createClient({ enableOobLoadReport: true });
    expect(await client.say()).toBe('a');
    await eventually(
      () => errors,
      (list) => list.length > 0,
    );
    expect(errors).toEqual([
      expect.stringMatching(/^Backend 127\.0\.0\.1:\d+ does not report its load out of band, /),
    ]);
  });
});
