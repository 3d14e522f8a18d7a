import { strict as assert } from 'node:assert';
import { ConnectivityState, Metadata, PickResultType } from '../../grpc-js';
import type { PickResult } from '../../grpc-js';
import type { LbPolicy, LbUpdate } from '../../lb/lb-policy';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import { err, ok } from '../../util/result';
import type { FakeSubchannel } from '../fake-subchannel';
import { makeEndpoint } from '../lb-endpoints';
import { LbHarness } from '../lb-harness';
import { describePick, pick } from '../picks';
import type { LbPolicyContract } from './contract';

/** One policy of the kind under test, in a harness. */
export class Subject {
  readonly harness: LbHarness;
  readonly policy: LbPolicy;
  private readonly metadata = new Metadata();

  constructor(readonly contract: LbPolicyContract) {
    this.harness = new LbHarness(contract.policies ?? []);
    this.policy = this.harness.create(contract.type);
    for (const [name, value] of contract.headers ?? []) this.metadata.set(name, value);
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
      this.pick();
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
    for (let i = 0; i < (this.contract.picksToConnect ?? 0); i++) this.pick();
    await this.harness.settle();
  }

  /** Serves the endpoints. */
  async serve(endpoints: readonly (string | XdsEndpoint)[]): Promise<LbUpdate> {
    const update = this.makeUpdate(endpoints);
    this.send(update);
    await this.connectAll();
    this.expectState(ConnectivityState.READY);
    return update;
  }

  /** Runs the task as one batch. */
  run(task: () => void): void {
    this.harness.batch.run(task);
  }

  /** The connection that a call is sent over; throws unless one is. */
  pickConnection(): FakeSubchannel {
    return this.harness.subchannel(this.pickAddress());
  }

  /** Whether the policy has, or wants, a connection to the address. */
  holds(address: string): boolean {
    return this.harness.host.held.some((subchannel) => subchannel.getAddress() === address);
  }

  forEachUnconnected(task: (subchannel: FakeSubchannel) => void): void {
    for (const subchannel of this.harness.host.held) {
      const isUp = subchannel.getConnectivityState() === ConnectivityState.READY;
      // A connection coming up may have made the policy let go of this one.
      if (subchannel.refs > 0 && !isUp) task(subchannel);
    }
  }

  get publications(): number {
    return this.harness.host.published.length;
  }

  get connectRequests(): number {
    return this.harness.host.subchannels.reduce((sum, s) => sum + s.connectRequests, 0);
  }

  /** Whatever there is to count. */
  get counts(): readonly number[] {
    const { host } = this.harness;
    const { created, published, reresolutionRequests } = host;
    return [created.length, published.length, reresolutionRequests, this.connectRequests];
  }

  pick(picker = this.harness.last.picker): PickResult {
    return pick(picker, this.contract.attributes ?? {}, this.metadata);
  }

  /** The address that a call is sent to; throws unless one is. */
  pickAddress(): string {
    const result = this.pick();
    if (result.subchannel === null) assert.fail(`A call was not sent, but ${describePick(result)}`);
    return result.subchannel.getAddress();
  }

  /** Picks often enough to have seen every endpoint of a small set. */
  pickMany(): ReadonlySet<string> {
    const seen = new Set<string>();
    for (let i = 0; i < 64; i++) {
      this.harness.random = i / 64;
      seen.add(this.pickAddress());
    }
    return seen;
  }

  expectState(state: ConnectivityState): void {
    const actual = ConnectivityState[this.harness.last.state];
    assert.equal(actual, ConnectivityState[state], 'the state that was published last');
  }

  expectQueue(): void {
    assert.equal(describePick(this.pick()), 'QUEUE', 'what becomes of a call');
  }

  expectAddress(address: string): void {
    assert.equal(describePick(this.pick()), `COMPLETE ${address}`, 'what becomes of a call');
  }

  /** Expects calls to fail with texts that have these parts. */
  expectFailure(...parts: readonly string[]): void {
    this.expectState(ConnectivityState.TRANSIENT_FAILURE);
    const result = this.pick();
    const { TRANSIENT_FAILURE } = PickResultType;
    assert.equal(PickResultType[result.pickResultType], PickResultType[TRANSIENT_FAILURE]);
    const text = result.status?.details ?? '';
    for (const part of parts) {
      assert.ok(text.includes(part), `a call fails with "${text}", in which "${part}" is missing`);
    }
  }

  /** Expects that nothing was thrown where only the log would have shown it. */
  expectNoErrors(): void {
    assert.deepEqual(this.harness.errors, [], 'exceptions that escaped from the policy');
  }

  /** Expects that there are no connections, timers, listeners or channelz children left. */
  expectNothingLeft(): void {
    const { clock, host } = this.harness;
    const held = host.held.map((subchannel) => subchannel.getAddress());
    assert.deepEqual(held, [], 'connections still held');
    const listeners = host.subchannels.reduce((sum, { listenerCount }) => sum + listenerCount, 0);
    assert.equal(listeners, 0, 'listeners left at connections');
    assert.equal(host.channelzChildCount, 0, 'channelz children left');
    assert.equal(clock.pendingTimers, 0, 'timers left');
  }
}
