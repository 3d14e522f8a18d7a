import { strict as assert } from 'node:assert';
import { ConnectivityState, Metadata, PickResultType, type PickResult } from '../grpc-js';
import type { LbPolicy, LbUpdate, LbPolicyLookup, LbPolicyType } from '../lb/lb-policy';
import { Child } from '../lb/tree/child';
import type { XdsEndpoint } from '../resources/endpoints/endpoints';
import { err, ok, type Result } from '../util/result';
import type { FakeSubchannel } from './fake-lb-host';
import { makeEndpoint, LbHarness, type PartialUpdate, describePick, pick } from './lb-harness';

/** Required behaviours of policies by name. Each throws an `AssertionError` if the policy lacks it. */
export type Behaviours = Readonly<Record<string, (subject: Subject) => void | Promise<void>>>;

export interface LbPolicyContract {
  readonly type: LbPolicyType;
  readonly policies?: readonly LbPolicyType[] | LbPolicyLookup;
  /**
   * Makes an update with these endpoints, or with this error. It keeps the identity of the endpoints.
   */
  makeUpdate(endpoints: Result<readonly XdsEndpoint[], string>): PartialUpdate;
  /** The attributes of calls, as set by the config selector. */
  readonly attributes?: object;
  readonly headers?: ReadonlyMap<string, string>;
  /** Number of picks that connect to every endpoint, if only picks do that; default 0. */
  readonly picksToConnect?: number;
  /** `false` if it stays IDLE until a pick or `exitIdle`. */
  readonly connectsAtOnce: boolean;
  /** `false` if it uses one endpoint only. */
  readonly usesEveryEndpoint: boolean;
}

/** Returns a policy as it is in a tree: its parent's child stops updates that have nothing new. */
export function belowParent(type: LbPolicyType): LbPolicyType {
  return {
    ...type,
    create(host) {
      const child: Child = new Child(
        {
          host,
          onStateChanged: () => host.updateState(child.state, child.picker, child.errorMessage),
        },
        type,
      );
      return child;
    },
  };
}

/** Three addresses. */
export const A = '10.0.0.1:80';
export const B = '10.0.0.2:80';
export const C = '10.0.0.3:80';

/** A policy under test in its harness. */
export class Subject {
  readonly harness: LbHarness;
  readonly policy: LbPolicy;
  private readonly metadata = new Metadata();

  constructor(readonly contract: LbPolicyContract) {
    this.harness = new LbHarness(contract.policies ?? []);
    this.policy = this.harness.create(contract.type);
    for (const [name, value] of contract.headers ?? []) this.metadata.set(name, value);
  }

  makeUpdate(endpoints: readonly (string | XdsEndpoint)[]): LbUpdate {
    const list = endpoints.map((e) => (typeof e === 'string' ? makeEndpoint(e) : e));
    return this.harness.completeUpdate(this.contract.makeUpdate(ok(list)));
  }

  makeErrorUpdate(error: string): LbUpdate {
    return this.harness.completeUpdate(this.contract.makeUpdate(err(error)));
  }

  send(update: LbUpdate): void {
    this.harness.send(this.policy, update);
  }

  /** Requests connections, and every attempt succeeds. */
  async connectAll(): Promise<void> {
    await this.requestConnections();
    this.run(() => this.forEachUnconnected((subchannel) => subchannel.connect()));
    await this.harness.settle();
  }

  /** Picks for a waiting call: again with each new picker. */
  async wait(): Promise<void> {
    for (let publications = -1; publications < this.publications;) {
      publications = this.publications;
      this.pick();
      await this.harness.settle();
    }
  }

  /** Requests connections, and every attempt fails. */
  async failAll(error: string): Promise<void> {
    await this.requestConnections();
    this.run(() => this.forEachUnconnected((subchannel) => subchannel.fail(error)));
    await this.harness.settle();
  }

  /** Requests connections by `exitIdle` and picks. */
  async requestConnections(): Promise<void> {
    this.run(() => this.policy.exitIdle());
    for (let i = 0; i < (this.contract.picksToConnect ?? 0); i++) this.pick();
    await this.harness.settle();
  }

  /** Sends an update with these endpoints and connects to them. */
  async serve(endpoints: readonly (string | XdsEndpoint)[]): Promise<LbUpdate> {
    const update = this.makeUpdate(endpoints);
    this.send(update);
    await this.connectAll();
    this.expectState(ConnectivityState.READY);
    return update;
  }

  run(task: () => void): void {
    this.harness.batch.run(task);
  }

  pickConnection(): FakeSubchannel {
    return this.harness.subchannel(this.pickAddress());
  }

  references(address: string): boolean {
    return this.harness.host.held.some((subchannel) => subchannel.getAddress() === address);
  }

  forEachUnconnected(task: (subchannel: FakeSubchannel) => void): void {
    for (const subchannel of this.harness.host.held) {
      const isUp = subchannel.getConnectivityState() === ConnectivityState.READY;
      // The policy may have released this one when another connected.
      if (subchannel.refs > 0 && !isUp) task(subchannel);
    }
  }

  get publications(): number {
    return this.harness.host.published.length;
  }

  get connectRequests(): number {
    return this.harness.host.subchannels.reduce((sum, s) => sum + s.connectRequests, 0);
  }

  get counts(): readonly number[] {
    const { host } = this.harness;
    const { created, published, reresolutionRequests } = host;
    return [created.length, published.length, reresolutionRequests, this.connectRequests];
  }

  pick(picker = this.harness.last.picker): PickResult {
    return pick(picker, this.contract.attributes ?? {}, this.metadata);
  }

  pickAddress(): string {
    const result = this.pick();
    if (result.subchannel === null) assert.fail(`No subchannel picked: ${describePick(result)}`);
    return result.subchannel.getAddress();
  }

  /** Picks 64 times and returns the addresses. */
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
    assert.equal(actual, ConnectivityState[state], 'the last published state');
  }

  expectQueue(): void {
    assert.equal(describePick(this.pick()), 'QUEUE', 'result of a pick');
  }

  expectAddress(address: string): void {
    assert.equal(describePick(this.pick()), `COMPLETE ${address}`, 'result of a pick');
  }

  /** Expects calls to fail with these texts. */
  expectFailure(...parts: readonly string[]): void {
    this.expectState(ConnectivityState.TRANSIENT_FAILURE);
    const result = this.pick();
    const { TRANSIENT_FAILURE } = PickResultType;
    assert.equal(PickResultType[result.pickResultType], PickResultType[TRANSIENT_FAILURE]);
    const text = result.status?.details ?? '';
    for (const part of parts) {
      assert.ok(text.includes(part), `a call fails with "${text}", without "${part}"`);
    }
  }

  /** Expects no exception of the policy in the batch, where only the log would show it. */
  expectNoErrors(): void {
    assert.deepEqual(this.harness.errors, [], 'exceptions of the policy');
  }

  /** Expects that all subchannels, timers, listeners and channelz children were released. */
  expectAllReleased(): void {
    const { clock, host } = this.harness;
    const referenced = host.held.map((subchannel) => subchannel.getAddress());
    assert.deepEqual(referenced, [], 'subchannels not released');
    const listeners = host.subchannels.reduce((sum, { listenerCount }) => sum + listenerCount, 0);
    assert.equal(listeners, 0, 'listeners not removed');
    assert.equal(host.channelzChildCount, 0, 'channelz children not removed');
    assert.equal(clock.pendingTimers, 0, 'timers not released');
  }
}
