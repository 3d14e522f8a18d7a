import { ConnectivityState, credentials, Metadata } from '../../../src/grpc-js';
import { createRlsPolicyType, type LookupChannel } from '../../../src/lb/rls/balancer';
import type { RlsConfig } from '../../../src/lb/rls/config';
import type {
  ControlChannelOptions,
  Lookup,
  LookupResult,
} from '../../../src/lb/rls/control-channel';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import type { LbConfig } from '../../../src/resources/extension-points';
import type { ChannelStats } from '../../../src/observe/stats/stats-plugin';
import { err, ok, type Result } from '../../../src/util/result';
import { Violations } from '../../../src/util/violations';
import { describePick, LbHarness, pick, singleLocality } from '../../support/lb-harness';
import { FakeLbHost } from '../../../src/testing/fake-lb-host';
import { StubPolicyType, type StubPolicy } from '../../support/lb-stub-policy';

/** A child that remembers the config of its target. */
class TargetPolicyType extends StubPolicyType {
  override parseConfig(json?: unknown, violations?: Violations): LbConfig {
    const config = { policyName: this.name, ...(json as object) };
    if ('bad' in config) return violations?.add('is bad') as unknown as LbConfig;
    return config;
  }
}

/** A lookup that the policy has sent. */
interface SentLookup extends Lookup {
  answer(targets: readonly string[], headerData?: string): void;
  fail(error?: string): void;
}

/** The policy with a lookup service that the test plays. */
export class RlsScene {
  readonly harness = new LbHarness();
  readonly children = new TargetPolicyType();
  readonly lookups: SentLookup[] = [];
  readonly connections: ControlChannelOptions[] = [];
  closed = 0;
  /** Why there is no channel; `undefined` if there is one. */
  connectError: string | undefined;
  readonly host: FakeLbHost;
  readonly policy;
  private latest: RlsConfig | undefined;
  private readonly registry = new LbPolicyRegistry({ policies: [this.children] });
  private readonly type = createRlsPolicyType((options) => this.connect(options));
  private readonly endpoints = singleLocality('10.0.0.1:80');

  constructor({ isXds = true, stats }: { isXds?: boolean; stats?: ChannelStats } = {}) {
    const channel = { nodeId: 'n', target: 'xds:///echo', authority: 'echo.test' };
    const policies = this.registry;
    const environment = { ...this.harness.environment, policies, stats, ...(isXds && { channel }) };
    this.host = new FakeLbHost(environment);
    this.policy = this.type.create(this.host);
  }

  /** The credentials of the channel that the subchannels show. */
  showCredentials(): this {
    const create = this.host.createSubchannel;
    const channel = { credentials: credentials.createInsecure() };
    this.host.createSubchannel = (...args) => Object.assign(create(...args), { channel });
    return this;
  }

  update(changes: object = {}, lookup: object = {}): void {
    const json = {
      routeLookupConfig: {
        grpcKeybuilders: [{ names: [{ service: 's' }], headers: [{ key: 'to', names: ['to'] }] }],
        lookupService: 'lookup.test:443',
        maxAge: '60s',
        staleAge: '30s',
        cacheSizeBytes: 10_000,
        ...lookup,
      },
      childPolicy: [{ stub: {} }],
      childPolicyConfigTargetFieldName: 'target',
      ...changes,
    };
    const violations = Violations.root();
    const config = this.type.parseConfig?.(json, violations, this.registry);
    expect(violations.all).toEqual([]);
    this.send(config as RlsConfig);
  }

  get config(): RlsConfig {
    if (this.latest === undefined) throw new Error('There was no update');
    return this.latest;
  }

  send(config: RlsConfig): void {
    this.latest = config;
    const update = this.harness.completeUpdate({ config, endpoints: ok(this.endpoints) });
    this.harness.batch.run(() => this.policy.update(config, update.endpoints, update.context));
  }

  /** Picks for a call, and describes the result. */
  pick(to = '', metadata = new Metadata(), method = '/s/m'): string {
    if (to !== '') metadata.set('to', to);
    const call = { cluster: 'cluster_specifier_plugin:rls', method };
    const result = describePick(pick(this.last.picker, call, metadata));
    this.harness.clock.flush();
    return result;
  }

  /** Picks, and answers the lookup. */
  learn(to: string, targets: readonly string[] = [to], headerData = ''): void {
    expect(this.pick(to)).toBe('QUEUE');
    this.lastLookup.answer(targets, headerData);
  }

  get last() {
    const last = this.host.published.at(-1);
    if (last === undefined) throw new Error('Nothing was published');
    return last;
  }

  get state(): string {
    return ConnectivityState[this.last.state] ?? '';
  }

  get lastLookup(): SentLookup {
    const last = this.lookups.at(-1);
    if (last === undefined) throw new Error('Nothing was looked up');
    return last;
  }

  /** The live child of a target. */
  child(target: string): StubPolicy {
    const found = this.children.live.find(
      ({ updates }) => Reflect.get(updates.at(-1)?.config ?? {}, 'target') === target,
    );
    if (found === undefined) throw new Error(`There is no child ${target}`);
    return found;
  }

  get targets(): readonly unknown[] {
    return this.children.live.map(({ lastUpdate }) => Reflect.get(lastUpdate.config, 'target'));
  }

  private connect(options: ControlChannelOptions): Result<LookupChannel, string> {
    this.connections.push(options);
    if (this.connectError !== undefined) return err(this.connectError);
    let isClosed = false;
    const lookUp = (lookup: Lookup, onResult: (r: LookupResult, isAccepted: boolean) => void) => {
      const end = (result: LookupResult, isAccepted: boolean) => {
        if (!isClosed) onResult(result, isAccepted);
      };
      this.lookups.push({
        ...lookup,
        answer: (targets, headerData = '') => end(ok({ targets, headerData }), true),
        fail: (error = 'UNAVAILABLE: down') => end(err(error), false),
      });
    };
    const close = () => {
      isClosed = true;
      this.closed++;
    };
    return ok({ lookUp, close });
  }
}
