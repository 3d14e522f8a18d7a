// The policy under a plain channel of grpc-js, over real sockets.

import {
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import { outlierDetectionPolicies } from '../../../src/lb/outlier-detection/balancer';
import { registerRegistry } from '../../support/register-registry';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { systemClock } from '../../../src/util/clock';
import { silentLogger } from '../../../src/util/logger';
import { systemRandom } from '../../../src/util/random';
import { EchoClient, echoMethod } from '../../support/echo-backend';
import { eventually } from '../../support/eventually';

const policies = new LbPolicyRegistry({
  policies: [...outlierDetectionPolicies, roundRobinPolicy],
});
registerRegistry(policies, () => ({
  clock: systemClock,
  random: systemRandom,
  logger: silentLogger,
  policies,
}));

/** A server that can be told to fail its calls. */
class FallibleServer {
  port = 0;
  connections = 0;
  isFailing = false;
  private readonly server = new Server();
  private readonly peers = new Set<string>();

  constructor(readonly name: string) {}

  async start(): Promise<this> {
    this.server.addService(
      { say: echoMethod },
      {
        say: (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
          this.peers.add(call.getPeer());
          this.connections = this.peers.size;
          if (this.isFailing) callback({ code: status.INTERNAL, details: this.name });
          else callback(null, Buffer.from(this.name));
        },
      },
    );
    this.port = await new Promise((resolve, reject) => {
      this.server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
    return this;
  }

  stop(): void {
    this.server.forceShutdown();
  }
}

it('ejects a backend that fails its calls, and unejects it on the same connection', async () => {
  const servers = await Promise.all(
    ['a', 'b', 'c'].map((name) => new FallibleServer(name).start()),
  );
  const target = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const client = new EchoClient(`ipv4:${target}`, {
    'grpc.service_config': JSON.stringify({
      loadBalancingConfig: [
        {
          outlier_detection_experimental: {
            interval: '0.1s',
            baseEjectionTime: '0.5s',
            failurePercentageEjection: { minimumHosts: 1, requestVolume: 3 },
            childPolicy: [{ round_robin: {} }],
          },
        },
      ],
    }),
  });
  const answers = async () => {
    const names = new Set<string>();
    for (let i = 0; i < 15; i++) {
      names.add(
        await client.say().catch((error: { details: string }) => `${error.details} failed`),
      );
    }
    return [...names].sort();
  };
  try {
    const [, b] = servers;
    if (b === undefined) throw new Error('No server');
    const reads = (expected: string) => (names: string[]) => names.join() === expected;
    await eventually(answers, reads('a,b,c'));
    b.isFailing = true;
    await eventually(answers, reads('a,c'));
    b.isFailing = false;
    await eventually(answers, reads('a,b,c'));
    expect(servers.map(({ connections }) => connections)).toEqual([1, 1, 1]);
  } finally {
    client.close();
    for (const server of servers) server.stop();
  }
});
