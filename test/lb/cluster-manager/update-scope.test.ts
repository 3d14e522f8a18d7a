import type { ClusterConfig, XdsConfig } from '../../../src/dependency-manager/xds-config';
import { clusterManagerPolicy } from '../../../src/lb/cluster-manager/balancer';
import { ClusterManagerConfig } from '../../../src/lb/cluster-manager/config';
import { CDS, CdsConfig } from '../../../src/lb/cds/config';
import { emptyEndpointSet } from '../../../src/lb/endpoint-set';
import type { LbPolicy } from '../../../src/lb/lb-policy';
import type { LbConfig } from '../../../src/resources/extension-points';
import { FixedKeysMap } from '../../../src/util/fixed-keys-map';
import { err, ok, type Result } from '../../../src/util/result';
import { LbHarness } from '../../support/lb-harness';
import { StubPolicyType } from '../../support/lb-stub-policy';
import { aggregateOf, lbContext, leafOf, RecordingSubscriber } from '../../support/lb-xds-config';
import { aggregateCluster, edsCluster } from '../../support/xds-builders';

type Clusters = Readonly<Record<string, Result<ClusterConfig, string>>>;

const leaf = (name: string) => leafOf(edsCluster(name));

/** A cluster manager over stubs for the clusters `a`, `b`, and `whole`, which consists of `b` and `c`. */
class Subject {
  readonly cds = new StubPolicyType(CDS);
  readonly other = new StubPolicyType('other');
  private readonly harness = new LbHarness([this.cds, this.other]);
  private readonly policy: LbPolicy = this.harness.create(clusterManagerPolicy);
  private readonly lbConfig: ClusterManagerConfig;
  private readonly subscriber = new RecordingSubscriber();
  private config: XdsConfig;
  private clusters: FixedKeysMap<string, Result<ClusterConfig, string>>;

  constructor() {
    const names = ['a', 'b', 'whole'];
    const cds = names.map((name): [string, LbConfig] => [name, new CdsConfig(name, false)]);
    this.lbConfig = new ClusterManagerConfig(new Map([...cds, ['x', { policyName: 'other' }]]));
    const whole = aggregateOf(aggregateCluster('whole', 'b', 'c'), 'b', 'c');
    const clusters = { a: leaf('a'), b: leaf('b'), c: leaf('c'), whole };
    this.clusters = FixedKeysMap.of(Object.keys(clusters), new Map(Object.entries(clusters)));
    this.config = { ...lbContext({}).config, clusters: this.clusters };
    this.send();
  }

  /** Sends an update with other clusters, as the dependency manager makes it. */
  change(clusters: Clusters): readonly string[] {
    this.clusters = this.clusters.with(new Map(Object.entries(clusters)));
    return this.send();
  }

  /** @returns the names of the children that were updated. */
  send(change: { readonly options?: object; readonly config?: XdsConfig } = {}): readonly string[] {
    const before = new Map(this.stubs().map((stub) => [stub, stub.updates.length]));
    this.config = change.config ?? { ...this.config, clusters: this.clusters };
    this.harness.update(this.policy, {
      config: this.lbConfig,
      endpoints: ok(emptyEndpointSet),
      xds: { config: this.config, clusters: this.subscriber, nodeId: 'n1', loads: undefined },
      options: change.options ?? this.harness.options,
    });
    const updated = this.stubs().filter((stub) => stub.updates.length > (before.get(stub) ?? 0));
    return updated.map(({ lastUpdate: { config } }) =>
      config instanceof CdsConfig ? config.cluster : 'x',
    );
  }

  private stubs() {
    return [...this.cds.instances, ...this.other.instances];
  }
}

describe('cluster_manager, of a config in which few clusters changed', () => {
  it.each<[string, Clusters, readonly string[]]>([
    ['one', { a: leaf('a') }, ['a', 'x']],
    ['one that is part of an aggregate, too', { b: err('gone') }, ['b', 'whole', 'x']],
    ['one that is part of an aggregate only', { c: leaf('c') }, ['whole', 'x']],
    ['several', { a: err('gone'), c: leaf('c') }, ['a', 'whole', 'x']],
    ['none', {}, ['x']],
  ])(
    'updates only the children that go by %s, and those of which it cannot know',
    (_, changed, updated) => {
      expect(new Subject().change(changed)).toEqual(updated);
    },
  );

  it('follows one change after the other', () => {
    const subject = new Subject();
    expect(subject.change({ a: leaf('a') })).toEqual(['a', 'x']);
    expect(subject.change({ c: leaf('c') })).toEqual(['whole', 'x']);
    expect(subject.change({ a: err('gone') })).toEqual(['a', 'x']);
  });

  it('updates all when a cluster becomes an aggregate, and heeds what that consists of', () => {
    const subject = new Subject();
    const a = aggregateOf(aggregateCluster('a', 'c'), 'c');
    expect(subject.change({ a })).toEqual(['a', 'b', 'whole', 'x']);
    expect(subject.change({ c: leaf('c') })).toEqual(['a', 'whole', 'x']);
  });

  it('updates all when the config is not made of the one before', () => {
    const subject = new Subject();
    const { config } = lbContext({ a: leaf('a') });
    expect(subject.send({ config })).toEqual(['a', 'b', 'whole', 'x']);
  });

  it('updates all when there are other channel options', () => {
    const subject = new Subject();
    expect(subject.send({ options: { 'grpc.keepalive_time_ms': 1 } })).toHaveLength(4);
  });

  it('lets a child that is not updated have the newest config all the same, and thus keep no old one', () => {
    const subject = new Subject();
    const a = leaf('a');
    subject.change({ a });
    const [, b] = subject.cds.instances;
    expect(b?.updates).toHaveLength(1);
    expect(b?.lastUpdate.xds?.config.clusters.get('a')).toBe(a);
  });
});
