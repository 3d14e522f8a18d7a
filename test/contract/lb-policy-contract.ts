import { ConnectivityState, PickResultType } from '../../src/grpc-js';
import type { LbPolicy, LbPolicyLookup, LbPolicyType, LbUpdate } from '../../src/lb/lb-policy';
import type { XdsEndpoint } from '../../src/resources/endpoints';
import { err, ok, type Result } from '../../src/util/result';
import { LbHarness, makeEndpoint, pick, pickAddress, pickError } from '../support/lb-harness';
import type { PartialUpdate } from '../support/lb-harness';

const { CONNECTING, READY, TRANSIENT_FAILURE } = ConnectivityState;

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';
const C = '10.0.0.3:80';
const AN_HOUR_MS = 3_600_000;

/** A policy and how to drive it. */
export interface LbPolicyContract {
  /** For the test report, such as `round_robin` or `weighted_target over round_robin`. */
  readonly name: string;
  readonly type: LbPolicyType;
  /** What children are made of. */
  readonly policies?: readonly LbPolicyType[] | LbPolicyLookup;
  /**
   * An update with these endpoints, or with the error there is instead. Endpoints given as the same
   * objects must arrive as the same objects.
   */
  makeUpdate(endpoints: Result<readonly XdsEndpoint[], string>, note: string): PartialUpdate;
  /** What the config selector would tell the picker. */
  readonly attributes?: object;
  /** How many picks it takes to have every endpoint connected to, if only picks do that; default 0. */
  readonly picksToConnect?: number;
  /** `false` if it waits in IDLE to be asked for a connection. */
  readonly connectsAtOnce: boolean;
  /** `false` if it settles for one endpoint. */
  readonly usesEveryEndpoint: boolean;
}

/** One policy of the kind under test, in a harness. */
class Subject {
  readonly harness: LbHarness;
  readonly policy: LbPolicy;
  private readonly attributes: object;

  constructor(private readonly contract: LbPolicyContract) {
    this.harness = new LbHarness(contract.policies ?? []);
    this.policy = this.harness.create(contract.type);
    this.attributes = contract.attributes ?? {};
  }

  makeUpdate(endpoints: readonly (string | XdsEndpoint)[], note = ''): LbUpdate {
    const list = endpoints.map((e) => (typeof e === 'string' ? makeEndpoint(e) : e));
    return this.harness.completeUpdate({
      ...this.contract.makeUpdate(ok(list), note),
      resolutionNote: note,
    });
  }

  makeErrorUpdate(error: string, note = ''): LbUpdate {
    return this.harness.completeUpdate({
      ...this.contract.makeUpdate(err(error), note),
      resolutionNote: note,
    });
  }

  send(update: LbUpdate): void {
    this.harness.update(this.policy, update);
  }

  /** Asks for connections and lets every one that is attempted come up. */
  async connectAll(): Promise<void> {
    await this.askForConnections();
    this.run(() => this.forEachUnconnected((subchannel) => subchannel.connect()));
    await this.harness.settle();
  }

  /** Lets a call wait, which picks anew with each new picker. */
  async wait(): Promise<void> {
    for (let publications = -1; publications < this.publications;) {
      publications = this.publications;
      this.pickType();
      await this.harness.settle();
    }
  }

  /** Asks for connections and lets every attempt fail. */
  async failAll(error: string): Promise<void> {
    await this.askForConnections();
    this.run(() => this.forEachUnconnected((subchannel) => subchannel.fail(error)));
    await this.harness.settle();
  }

  /** Asks for connections, and waits for them to be attempted. */
  async askForConnections(): Promise<void> {
    this.run(() => this.policy.exitIdle());
    for (let i = 0; i < (this.contract.picksToConnect ?? 0); i++) this.pickType();
    await this.harness.settle();
  }

  /** Serves the endpoints. */
  async serve(endpoints: readonly (string | XdsEndpoint)[]): Promise<LbUpdate> {
    const update = this.makeUpdate(endpoints);
    this.send(update);
    await this.connectAll();
    expect(this.state).toBe(READY);
    return update;
  }

  run(task: () => void): void {
    this.harness.batch.run(task);
  }

  forEachUnconnected(task: (subchannel: LbHarness['host']['held'][number]) => void): void {
    for (const subchannel of this.harness.host.held) {
      // A connection coming up may have made the policy let go of this one.
      if (subchannel.refs > 0 && subchannel.getConnectivityState() !== READY) task(subchannel);
    }
  }

  get state(): ConnectivityState {
    return this.harness.last.state;
  }

  get publications(): number {
    return this.harness.host.published.length;
  }

  get connectRequests(): number {
    return this.harness.host.subchannels.reduce((sum, s) => sum + s.connectRequests, 0);
  }

  pickAddress(): string {
    return pickAddress(this.harness.last.picker, this.attributes);
  }

  pickError(): string {
    return pickError(this.harness.last.picker, this.attributes);
  }

  pickType(): string {
    const result = pick(this.harness.last.picker, this.attributes);
    return PickResultType[result.pickResultType];
  }

  /** Picks often enough to have seen every endpoint of a small set. */
  pickMany(): Set<string> {
    const seen = new Set<string>();
    for (let i = 0; i < 64; i++) {
      this.harness.random = i / 64;
      seen.add(this.pickAddress());
    }
    return seen;
  }
}

/** The behaviour every load-balancing policy owes its parent, as tests. */
export function describeLbPolicyContract(contract: LbPolicyContract): void {
  describe(`load-balancing policy contract: ${contract.name}`, () => {
    describeServing(contract);
    describeUpdates(contract);
    describeFailures(contract);
    describeEnd(contract);
  });
}

function describeServing(contract: LbPolicyContract): void {
  it('does nothing before its first update', async () => {
    const subject = new Subject(contract);
    subject.run(() => subject.policy.exitIdle());
    subject.run(() => subject.policy.resetBackoff());
    await subject.harness.settle();
    expect(subject.harness.host.created.length).toBe(0);
    expect(subject.harness.errors).toEqual([]);
  });

  it('queues calls until a connection is up, then uses it', async () => {
    const subject = new Subject(contract);
    subject.send(subject.makeUpdate([A]));
    expect(subject.pickType()).toBe('QUEUE');
    await subject.connectAll();
    expect(subject.pickAddress()).toBe(A);
  });

  it(
    contract.connectsAtOnce ? 'connects without being asked' : 'connects when a call is picked',
    async () => {
      const subject = new Subject(contract);
      subject.send(subject.makeUpdate([A]));
      await subject.harness.settle();
      if (!contract.connectsAtOnce) {
        expect(subject.connectRequests).toBe(0);
        await subject.wait();
      }
      expect(subject.connectRequests).toBeGreaterThan(0);
    },
  );

  it('gets back to READY after the connection went away', async () => {
    const subject = new Subject(contract);
    await subject.serve([A]);
    subject.run(() => subject.harness.subchannel(A).disconnect());
    expect(subject.state).not.toBe(READY);
    await subject.connectAll();
    expect(subject.pickAddress()).toBe(A);
  });

  it(contract.usesEveryEndpoint ? 'uses every endpoint' : 'holds on to one endpoint', async () => {
    const subject = new Subject(contract);
    await subject.serve([A, B, C]);
    expect(subject.pickMany().size).toBe(contract.usesEveryEndpoint ? 3 : 1);
  });

  it('publishes one picker however many connections change in one batch', async () => {
    const subject = new Subject(contract);
    subject.send(subject.makeUpdate([A, B, C]));
    await subject.askForConnections();
    const before = subject.publications;
    subject.run(() => subject.forEachUnconnected((subchannel) => subchannel.connect()));
    expect(subject.publications).toBe(before + 1);
  });
}

function describeUpdates(contract: LbPolicyContract): void {
  it('does nothing on an update that is the same by identity', async () => {
    const subject = new Subject(contract);
    const update = await subject.serve([A, B]);
    const { created } = subject.harness.host;
    const before = [created.length, subject.connectRequests, subject.publications];
    subject.send(update);
    subject.send({ ...update });
    await subject.harness.settle();
    expect([created.length, subject.connectRequests, subject.publications]).toEqual(before);
  });

  it('keeps the connection of an endpoint that stays, and drops that of one that goes', async () => {
    const subject = new Subject(contract);
    await subject.serve([A, B]);
    const kept = subject.harness.subchannel(A);
    subject.send(subject.makeUpdate([A, C]));
    await subject.connectAll();
    expect(kept.closed).toBe(false);
    expect(subject.pickMany()).toContain(A);
    expect(subject.pickMany()).not.toContain(B);
    expect(subject.harness.subchannel(B).refs).toBe(0);
  });

  it('keeps the connection of an endpoint whose addresses are listed in another order', async () => {
    const subject = new Subject(contract);
    await subject.serve([makeEndpoint([A, B])]);
    const connected = subject.harness.subchannel(subject.pickAddress());
    subject.send(subject.makeUpdate([makeEndpoint([B, A])]));
    await subject.harness.settle();
    expect(connected.closed).toBe(false);
    expect(subject.pickAddress()).toBe(connected.getAddress());
  });

  it('moves to endpoints that are all new', async () => {
    const subject = new Subject(contract);
    await subject.serve([A]);
    subject.send(subject.makeUpdate([B]));
    await subject.connectAll();
    expect(subject.pickAddress()).toBe(B);
    expect(subject.harness.subchannel(A).refs).toBe(0);
  });

  it('lets calls use the picker they hold while it is replaced', async () => {
    const subject = new Subject(contract);
    await subject.serve([A, B]);
    const { picker } = subject.harness.last;
    subject.send(subject.makeUpdate([A, C]));
    expect(() => pick(picker, contract.attributes)).not.toThrow();
    expect(subject.harness.errors).toEqual([]);
  });

  it('takes an update from inside a publication', async () => {
    const subject = new Subject(contract);
    let pending: LbUpdate | undefined = subject.makeUpdate([B]);
    subject.harness.host.onPublished = () => {
      const update = pending;
      pending = undefined;
      if (update !== undefined) subject.send(update);
    };
    subject.send(subject.makeUpdate([A]));
    await subject.connectAll();
    expect(subject.pickAddress()).toBe(B);
    expect(subject.harness.errors).toEqual([]);
  });

  if (contract.usesEveryEndpoint) {
    it('creates one subchannel when one of many endpoints is replaced', async () => {
      const subject = new Subject(contract);
      const many = Array.from({ length: 300 }, (_, i) =>
        makeEndpoint(`10.1.${i >> 8}.${i & 255}:80`),
      );
      await subject.serve(many);
      const before = subject.harness.host.created.length;
      subject.send(subject.makeUpdate([...many.slice(0, -1), makeEndpoint(C)]));
      await subject.connectAll();
      expect(subject.harness.host.created.length).toBe(before + 1);
      expect(subject.harness.host.held.length).toBe(many.length);
    });
  }
}

function describeFailures(contract: LbPolicyContract): void {
  it('fails calls with the error when there never were endpoints', () => {
    const subject = new Subject(contract);
    subject.send(subject.makeErrorUpdate('no such name', 'DNS says no'));
    expect(subject.state).toBe(TRANSIENT_FAILURE);
    expect(subject.pickError()).toContain('no such name');
  });

  it('recovers from an error with the first endpoints', async () => {
    const subject = new Subject(contract);
    subject.send(subject.makeErrorUpdate('no such name'));
    await subject.serve([A]);
    expect(subject.pickAddress()).toBe(A);
  });

  it('goes on with the endpoints it has when an error follows', async () => {
    const subject = new Subject(contract);
    await subject.serve([A]);
    subject.send(subject.makeErrorUpdate('no such name'));
    await subject.harness.settle();
    expect(subject.pickAddress()).toBe(A);
    expect(subject.harness.subchannel(A).closed).toBe(false);
  });

  it('fails calls with the resolution note when there are no endpoints', () => {
    const subject = new Subject(contract);
    subject.send(subject.makeUpdate([], 'all were unhealthy'));
    expect(subject.state).toBe(TRANSIENT_FAILURE);
    expect(subject.pickError()).toContain('all were unhealthy');
  });

  it('lets go of its endpoints when the list becomes empty', async () => {
    const subject = new Subject(contract);
    await subject.serve([A, B]);
    subject.send(subject.makeUpdate([], 'all were unhealthy'));
    expect(subject.state).toBe(TRANSIENT_FAILURE);
    expect(subject.harness.host.held.length).toBe(0);
  });

  it('fails calls with the connection error and the resolution note', async () => {
    const subject = new Subject(contract);
    subject.send(subject.makeUpdate([A], 'DNS is stale'));
    await subject.failAll('connection refused');
    expect(subject.state).toBe(TRANSIENT_FAILURE);
    expect(subject.pickError()).toContain('connection refused');
    expect(subject.pickError()).toContain('DNS is stale');
    expect(subject.harness.last.errorMessage).toContain('connection refused');
  });

  it('stays in TRANSIENT_FAILURE until a connection is up', async () => {
    const subject = new Subject(contract);
    subject.send(subject.makeUpdate([A, B]));
    await subject.failAll('connection refused');
    expect(subject.state).toBe(TRANSIENT_FAILURE);
    subject.run(() => subject.forEachUnconnected((s) => s.setState(ConnectivityState.IDLE)));
    subject.run(() => subject.forEachUnconnected((s) => s.setState(CONNECTING)));
    expect(subject.state).toBe(TRANSIENT_FAILURE);
    subject.run(() => subject.harness.subchannel(B).setState(READY));
    expect(subject.pickAddress()).toBe(B);
  });

  it('asks for re-resolution when every connection fails', async () => {
    const subject = new Subject(contract);
    subject.send(subject.makeUpdate([A]));
    await subject.failAll('connection refused');
    expect(subject.harness.host.reresolutionRequests).toBeGreaterThan(0);
  });

  it('fails calls on a config of another class instead of throwing', async () => {
    const subject = new Subject(contract);
    subject.send({ ...subject.makeUpdate([A]), config: { policyName: contract.type.name } });
    expect(subject.state).toBe(TRANSIENT_FAILURE);
    expect(subject.pickType()).toBe('TRANSIENT_FAILURE');
    await subject.serve([A]);
    expect(subject.harness.errors).toEqual([]);
  });
}

function describeEnd(contract: LbPolicyContract): void {
  it('releases everything when destroyed', async () => {
    const subject = new Subject(contract);
    await subject.serve([A, B]);
    subject.run(() => subject.harness.subchannel(A).disconnect());
    subject.run(() => subject.policy.destroy());
    await subject.harness.settle();
    const { clock, host } = subject.harness;
    expect(host.held.length).toBe(0);
    expect(host.subchannels.map((subchannel) => subchannel.listenerCount)).not.toContain(1);
    expect(host.channelzChildCount).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it('publishes nothing after it was destroyed', async () => {
    const subject = new Subject(contract);
    await subject.serve([A]);
    const { clock, host, last } = subject.harness;
    subject.run(() => {
      subject.harness.subchannel(A).disconnect();
      subject.policy.destroy();
    });
    const before = [host.published.length, host.created.length, host.reresolutionRequests];
    pick(last.picker, contract.attributes);
    for (const subchannel of host.subchannels) subchannel.connect();
    await subject.harness.settle();
    clock.advance(AN_HOUR_MS);
    await subject.harness.settle();
    const after = [host.published.length, host.created.length, host.reresolutionRequests];
    expect(after).toEqual(before);
    expect(subject.harness.errors).toEqual([]);
  });

  it('does not publish what was due when it was destroyed', () => {
    const subject = new Subject(contract);
    const update = subject.makeErrorUpdate('no such name');
    subject.run(() => {
      subject.policy.update(update);
      subject.policy.destroy();
    });
    subject.run(() => {});
    expect(subject.harness.host.published.length).toBe(0);
    expect(subject.harness.errors).toEqual([]);
  });

  it('releases everything when destroyed while it connects', async () => {
    const subject = new Subject(contract);
    subject.send(subject.makeUpdate([A, B]));
    subject.run(() => subject.policy.exitIdle());
    subject.run(() => subject.policy.destroy());
    await subject.harness.settle();
    expect(subject.harness.host.held.length).toBe(0);
    expect(subject.harness.host.channelzChildCount).toBe(0);
    expect(subject.harness.clock.pendingTimers).toBe(0);
  });

  it('can be destroyed from inside a publication', async () => {
    const subject = new Subject(contract);
    const { host } = subject.harness;
    host.onPublished = () => subject.run(() => subject.policy.destroy());
    subject.send(subject.makeUpdate([A]));
    await subject.harness.settle();
    expect(host.published).toHaveLength(1);
    expect(host.held.length).toBe(0);
    expect(subject.harness.errors).toEqual([]);
  });

  it('can be destroyed twice, and before any update', () => {
    const subject = new Subject(contract);
    subject.run(() => subject.policy.destroy());
    subject.run(() => subject.policy.destroy());
    expect(subject.harness.host.published.length).toBe(0);
    expect(subject.harness.errors).toEqual([]);
  });
}
