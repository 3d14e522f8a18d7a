import { Client, credentials, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { leastRequestPolicy } from '../../../src/lb/least-request/balancer';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import { registerRegistry } from '../../support/register-registry';
import { systemClock } from '../../../src/util/clock';
import { silentLogger } from '../../../src/util/logger';
import { echoMethod } from '../../support/echo-backend';
import { eventually } from '../../support/eventually';
import { seededRandom } from '../../support/seeded-random';
import { SlowServer } from '../../support/slow-server';

const policies = new LbPolicyRegistry({ policies: [leastRequestPolicy] });
registerRegistry(policies, () => ({
  clock: systemClock,
  random: seededRandom(1),
  logger: silentLogger,
  policies,
}));

/** A client of two servers, and the calls each of them has got and not answered. */
class Subject {
  readonly a = new SlowServer();
  readonly b = new SlowServer();
  private client: Client | undefined;

  /** Connects to both. */
  async start(): Promise<void> {
    await this.a.start();
    await this.b.start();
    const target = `ipv4:127.0.0.1:${this.a.port},127.0.0.1:${this.b.port}`;
    this.client = new Client(target, credentials.createInsecure(), {
      'grpc.service_config': JSON.stringify({
        loadBalancingConfig: [{ least_request_experimental: { choiceCount: 10 } }],
      }),
    });
    while (!this.waiting.every((count) => count > 0)) await this.send(1);
    this.answer();
  }

  stop(): void {
    this.client?.close();
    this.a.stop();
    this.b.stop();
  }

  get waiting(): [number, number] {
    return [this.a.waiting.length, this.b.waiting.length];
  }

  /** Makes calls in one go and waits until the servers have them. */
  async send(count: number): Promise<RunningCall[]> {
    const before = this.a.waiting.length + this.b.waiting.length;
    const calls = Array.from({ length: count }, () => this.call());
    await eventually(
      () => this.a.waiting.length + this.b.waiting.length,
      (total) => total === before + count,
    );
    return calls;
  }

  answer(): void {
    this.a.answer();
    this.b.answer();
  }

  call(request = 'slow', metadata = new Metadata()): RunningCall {
    const same = (buffer: Buffer) => buffer;
    let cancel = () => {};
    const code = new Promise<status>((resolve) => {
      const call = this.client?.makeUnaryRequest(
        echoMethod.path,
        same,
        same,
        Buffer.from(request),
        metadata,
        { deadline: Date.now() + 10_000 },
        (error: ServiceError | null) => resolve(error?.code ?? status.OK),
      );
      cancel = () => call?.cancel();
    });
    return { code, cancel: () => cancel() };
  }
}

interface RunningCall {
  readonly code: Promise<status>;
  cancel(): void;
}

describe('least_request with real calls', () => {
  const subject = new Subject();
  beforeAll(() => subject.start());
  afterAll(() => subject.stop());
  afterEach(() => subject.answer());

  it('spreads calls evenly that are made in one turn', async () => {
    await subject.send(20);
    expectEven(subject.waiting);
  });

  it('prefers the server that answers', async () => {
    const calls = await subject.send(20);
    const [ofA] = subject.waiting;
    subject.a.answer();
    await eventually(
      () => countSettled(calls),
      (count) => count === ofA,
    );
    await subject.send(10);
    expectEven(subject.waiting);
    subject.answer();
    expect(await Promise.all(calls.map(({ code }) => code))).toEqual(Array(20).fill(status.OK));
  });

  it('counts no call that was cancelled or never started', async () => {
    const calls = await subject.send(10);
    for (const call of calls) call.cancel();
    expect(await Promise.all(calls.map(({ code }) => code))).toEqual(
      Array(10).fill(status.CANCELLED),
    );
    const twice = new Metadata();
    twice.add('authorization', 'one');
    twice.add('authorization', 'two');
    // The host starts these calls all the same, and has them answered.
    for (let i = 0; i < 5; i++) {
      expect(await subject.call('fast', twice).code).toBe(status.INTERNAL);
    }
    subject.answer();
    await eventually(
      async () => {
        await subject.send(10);
        const { waiting } = subject;
        subject.answer();
        return waiting;
      },
      ([a, b]) => Math.abs(a - b) <= 2,
    );
  });
});

/** One pick in 512 draws the same server ten times. */
function expectEven([a, b]: [number, number]): void {
  expect(Math.abs(a - b)).toBeLessThanOrEqual(2);
}

async function countSettled(calls: readonly RunningCall[]): Promise<number> {
  let settled = 0;
  for (const { code } of calls) void code.then(() => settled++);
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}
