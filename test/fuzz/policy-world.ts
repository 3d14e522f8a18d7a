import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { ConnectivityState, Metadata, PickResultType, type PickResult } from '../../src/grpc-js';
import type { XxHash64 } from '../../src/util/hashes';
import { createPolicyRegistry } from '../../src/lb/registry/create-policy-registry';
import { emptyEndpointSet, type EndpointSet } from '../../src/lb/endpoints/endpoint-set';
import type { LbPolicy } from '../../src/lb/lb-policy';
import type { LbPolicyRegistry } from '../../src/lb/registry/lb-policy-registry';
import type { HealthStatus, LocalityEndpoints } from '../../src/resources/endpoints/endpoints';
import type { LbConfig } from '../../src/resources/extension-points';
import { readFeatureFlags } from '../../src/util/feature-flags';
import { silentLogger } from '../../src/util/logger';
import { err, ok, type Result } from '../../src/util/result';
import { Violations } from '../../src/util/violations';
import { FakeClock } from '../support/fake-clock';
import { withJson } from '../support/internal-policy-json';
import { LbHarness, makeEndpoint, makeLocality, pick } from '../support/lb-harness';
import { FakeClusterStore, lbContext, leafOf } from '../support/lb-xds-config';
import { edsCluster } from '../support/xds-builders';

const MANAGER = 'xds_cluster_manager_experimental';
const { READY } = ConnectivityState;
/** Enough for every connection that depends on another one. */
const ROUNDS = 30;
const AN_HOUR_MS = 3_600_000;

/** A call that was sent. */
type Sent = Pick<PickResult, 'onCallEnded'>;

/** A tree of policies under a cluster manager with one child, and everything around it. */
export class PolicyWorld {
  private readonly clock = new FakeClock();
  private readonly registry: LbPolicyRegistry;
  private readonly harness: LbHarness;
  private readonly policy: LbPolicy;
  private readonly store = new FakeClusterStore();
  private readonly xds = lbContext({}, this.store);
  private endpoints: Result<EndpointSet, string> = ok(emptyEndpointSet);
  private config: LbConfig | undefined;
  /** The policy of the cluster of `cds_experimental`. */
  private readonly leaf: LbConfig;
  /** Addresses that calls may be sent to. */
  private readonly allowed = new Set<string>();
  private readonly sent: Sent[] = [];

  /** @param isStrict Whether calls are sent to the latest endpoints only; if not, those before may serve for a while. */
  constructor(
    hash: XxHash64,
    private readonly isStrict: boolean,
  ) {
    this.registry = createPolicyRegistry({
      clock: this.clock,
      random: () => 0.5,
      logger: silentLogger,
      flags: readFeatureFlags({}),
      hash,
      limits: DEFAULT_LIMITS,
    });
    for (const type of [...this.registry.registered()]) this.registry.register(withJson(type));
    this.harness = new LbHarness(this.registry);
    let draws = 0;
    this.harness.random = () => (draws = (draws + 0.37) % 1);
    this.policy = this.harness.create(this.typeOf(MANAGER));
    this.leaf = this.parseOnly([{ round_robin: {} }]);
  }

  /** Carries out one line. @returns what is wrong afterwards. */
  async step(line: string): Promise<string | undefined> {
    const [name = '', ...rest] = line.split(' ');
    const problem = this.act(name, rest);
    await this.harness.settle();
    return problem ?? this.harness.errors.map(String)[0];
  }

  /** Lets every connection come up. A call must not have to wait any more. */
  async checkProgress(): Promise<string | undefined> {
    for (let round = 0; round < ROUNDS; round++) {
      this.act('wake', []);
      this.act('connect', ['all']);
      await this.harness.settle();
      const result = this.pick(0);
      if (result !== undefined && result.pickResultType !== PickResultType.QUEUE) return undefined;
      this.act('time', ['1000']);
    }
    return this.harness.host.published.length === 0 ? undefined : 'a call waits for ever';
  }

  /** Destroys the tree. @returns what is left of it. */
  async finish(): Promise<string | undefined> {
    const { harness, clock, policy, sent, store } = this;
    harness.batch.run(() => policy.destroy());
    for (const call of sent) call.onCallEnded?.(0, '', new Metadata());
    await harness.settle();
    const { host } = harness;
    const published = host.published.length;
    const left: Readonly<Record<string, number>> = {
      connections: host.held.length,
      listeners: host.subchannels.reduce((sum, { listenerCount }) => sum + listenerCount, 0),
      'channelz children': host.channelzChildCount,
      timers: harness.clock.pendingTimers + clock.pendingTimers,
      subscriptions: store.subscriptions.size + store.watched.length,
    };
    harness.clock.advance(AN_HOUR_MS);
    const found = Object.entries(left).find(([, count]) => count > 0);
    if (found !== undefined) return `${found[1]} ${found[0]} are left`;
    if (host.published.length > published) return 'publishes after it was destroyed';
    return harness.errors.map(String)[0];
  }

  private act(name: string, rest: readonly string[]): string | undefined {
    const { harness, policy } = this;
    const [first = '', second = ''] = rest;
    switch (name) {
      case 'config':
      case 'endpoints':
      case 'missing':
        this.change(name, rest);
        break;
      case 'time':
        harness.clock.advance(Number(first));
        this.clock.advance(Number(first));
        break;
      case 'wake':
        harness.batch.run(() => policy.exitIdle());
        break;
      case 'reset':
        harness.batch.run(() => policy.resetBackoff());
        break;
      case 'call':
        return this.callMany(Number(first), Number(second));
      default:
        this.changeConnections(name, first === 'all' ? undefined : addressOf(first));
    }
    return undefined;
  }

  /** Sends an update with another config or other endpoints. */
  private change(what: 'config' | 'endpoints' | 'missing', rest: readonly string[]): void {
    if (what === 'config') this.config = this.parse(JSON.parse(rest.join(' ')));
    else this.endpoints = what === 'missing' ? err('no such name') : ok(this.parseEndpoints(rest));
    this.update();
  }

  private update(): void {
    const { config, endpoints, harness, policy, store, xds, leaf } = this;
    if (config === undefined) return;
    const localities = endpoints.ok ? endpoints.value.localities : [];
    const cluster = leafOf(
      { ...edsCluster('c'), lbConfig: leaf },
      { priorities: localities.map((locality) => ({ localities: [locality] })) },
    );
    store.set({ c: cluster });
    harness.update(policy, { config, endpoints, xds });
  }

  /** Puts the policy under a cluster manager. */
  private parse(childPolicy: unknown): LbConfig {
    return this.parseOnly([{ [MANAGER]: { children: { 'cluster:a': { childPolicy } } } }]);
  }

  private parseOnly(json: unknown): LbConfig {
    const violations = Violations.root();
    const config = this.registry.fromJson(json, violations);
    if (config === undefined) throw new Error(violations.all.join('; '));
    return config;
  }

  private typeOf(name: string) {
    const type = this.registry.get(name);
    if (type === undefined) throw new Error(`${name} is not registered`);
    return type;
  }

  private parseEndpoints(words: readonly string[]): EndpointSet {
    if (this.isStrict) this.allowed.clear();
    const byName = words.map((word): readonly [string, LocalityEndpoints] => {
      const [name = '', weight = '1', list = ''] = word.split(':');
      const endpoints = list.split(',').filter(Boolean).map(parseEndpoint);
      for (const { addresses } of endpoints) {
        for (const { host, port } of addresses) this.allowed.add(`${host}:${port}`);
      }
      return [name, makeLocality(name, endpoints, Number(weight))];
    });
    const localities = byName.map(([, locality]) => locality);
    let children: EndpointSet['children'];
    // Policies with named children may be below each other.
    for (let depth = 0; depth < 3; depth++) {
      const below = children;
      children = new Map(
        byName.map(([name, locality]) => [name, { localities: [locality], children: below }]),
      );
    }
    return { localities, children };
  }

  private changeConnections(change: string, address: string | undefined): void {
    const { harness } = this;
    harness.batch.run(() => {
      for (const subchannel of harness.host.held) {
        if (subchannel.refs === 0) continue;
        if (address !== undefined && subchannel.getAddress() !== address) continue;
        const isReady = subchannel.getConnectivityState() === READY;
        if (change === 'disconnect' && isReady) subchannel.disconnect();
        if (change === 'connect' && !isReady) subchannel.connect();
        if (change === 'fail' && !isReady) subchannel.fail('connection refused');
      }
    });
  }

  private callMany(count: number, preferred: number): string | undefined {
    for (let call = 0; call < count; call++) {
      const result = this.pick(preferred);
      const problem = result && this.judge(result);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  private pick(preferred: number): PickResult | undefined {
    const last = this.harness.host.published.at(-1);
    if (last === undefined) return undefined;
    const metadata = new Metadata();
    metadata.set('user', String(preferred));
    const attributes = {
      cluster: 'cluster:a',
      requestHash: () => BigInt(preferred) << 60n,
      overrideHost: { addresses: [addressOf(String(preferred))], onPicked: () => undefined },
    };
    return pick(last.picker, attributes, metadata);
  }

  private judge(result: PickResult): string | undefined {
    const { subchannel, status } = result;
    switch (result.pickResultType) {
      case PickResultType.QUEUE:
        return undefined;
      case PickResultType.COMPLETE: {
        const address = subchannel?.getAddress() ?? 'nothing';
        if (!this.allowed.has(address)) return `a call is sent to ${address}`;
        if (subchannel?.getConnectivityState() !== READY) return `${address} is not connected`;
        result.onCallStarted?.();
        this.end(result);
        return undefined;
      }
      default:
        return status === null || status.details === ''
          ? 'a call fails without a reason'
          : undefined;
    }
  }

  /** Some calls end at once, with or without success, and some later. */
  private end(call: Sent): void {
    this.sent.push(call);
    if (this.sent.length % 3 === 0) return;
    this.sent.pop()?.onCallEnded?.(this.sent.length % 2 === 0 ? 0 : 14, '', new Metadata());
  }
}

function addressOf(index: string): string {
  return `10.0.0.${index}:80`;
}

function parseEndpoint(text: string) {
  const [index = '0', weight = '1', health = ''] = text.split('/');
  return makeEndpoint(addressOf(index), { weight: Number(weight), health: toHealth(health) });
}

function toHealth(text: string): HealthStatus {
  return text === 'DRAINING' || text === 'UNKNOWN' ? text : 'HEALTHY';
}
