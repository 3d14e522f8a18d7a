import type { ClusterResult } from '../../../src/dependency-manager/xds-config';
import { ConnectivityState } from '../../../src/grpc-js';
import { CdsConfig } from '../../../src/lb/cds/config';
import { createClusterImplPolicyType } from '../../../src/lb/cluster-impl/balancer';
import { CallCounterMap } from '../../../src/lb/cluster-impl/circuit-breaker';
import { CLUSTER_IMPL, ClusterImplConfig } from '../../../src/lb/cluster-impl/config';
import { emptyEndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import type { LbPolicy } from '../../../src/lb/lb-policy';
import { PRIORITY, PriorityConfig } from '../../../src/lb/priority/config';
import type { ClusterResource } from '../../../src/resources/cluster/cluster';
import type { PriorityEndpoints } from '../../../src/resources/endpoints/endpoints';
import { err, ok } from '../../../src/util/result';
import { toIso, withoutSince } from '../../../src/util/since';
import { FakeClock } from '../../support/fake-clock';
import { describePick, LbHarness, makeLocality, pick, pickError } from '../../support/lb-harness';
import { StubPolicyType } from '../../support/lb-stub-policy';
import {
  aggregateOf,
  failedCluster,
  lbContext,
  leafOf,
  FakeClusterStore,
} from '../../support/lb-xds-config';
import { aggregateCluster, dnsCluster, edsCluster } from '../../support/xds-builders';
import { cdsPolicy, priorityPolicy } from '../../support/lb-policies';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

type Clusters = Readonly<Record<string, ClusterResult>>;

/** One priority with one locality. */
function priority(region: string, ...addresses: readonly string[]): PriorityEndpoints {
  return { localities: [makeLocality(region, addresses)] };
}

/** A cds with the policies below it as stubs. */
class Subject {
  readonly clusterImpl = new StubPolicyType(CLUSTER_IMPL);
  readonly priority = new StubPolicyType(PRIORITY);
  readonly harness = new LbHarness([this.clusterImpl, this.priority]);
  readonly policy: LbPolicy = this.harness.create(cdsPolicy);
  readonly store = new FakeClusterStore();
  private readonly config: CdsConfig;

  constructor(cluster = 'c', isDynamic = false) {
    this.config = new CdsConfig(cluster, isDynamic);
  }

  update(clusters: Clusters, change: { readonly options?: object } = {}): void {
    this.harness.update(this.policy, {
      config: this.config,
      endpoints: ok(emptyEndpointSet),
      xds: lbContext(clusters, this.store),
      ...change,
    });
  }

  /** What the resolver sends when it has no config. */
  updateError(error: string): void {
    this.harness.update(this.policy, { config: this.config, endpoints: err(error) });
  }

  get error(): string {
    return withoutSince(pickError(this.harness.last.picker));
  }
}

describe('cds', () => {
  describe('of a cluster with endpoints', () => {
    const cluster = edsCluster('c');

    it('sets up cluster_impl, which sets up priority', () => {
      const subject = new Subject();
      subject.update({ c: leafOf(cluster, { priorities: [priority('a', '10.0.0.1:80')] }) });
      const { config } = subject.clusterImpl.instance(0).lastUpdate;
      expect(config).toBeInstanceOf(ClusterImplConfig);
      expect(config instanceof ClusterImplConfig && config.options.childPolicy).toBeInstanceOf(
        PriorityConfig,
      );
    });

    it('is as its child is', () => {
      const subject = new Subject();
      subject.update({ c: leafOf(cluster, { priorities: [priority('a')] }) });
      expect(subject.harness.last.state).toBe(CONNECTING);
      subject.clusterImpl.instance(0).reportReady('from the child');
      expect(subject.harness.last.state).toBe(READY);
      expect(subject.error).toBe('from the child');
      subject.clusterImpl.instance(0).reportFailure('down');
      expect(subject.harness.last.errorMessage).toBe('down');
    });

    it('does nothing when another cluster changed', () => {
      const subject = new Subject();
      const c = leafOf(cluster, { priorities: [priority('a')] });
      subject.update({ c, d: failedCluster('unknown') });
      subject.clusterImpl.instance(0).reportReady('ready');
      const before = subject.harness.host.published.length;
      subject.store.set({ c, d: failedCluster('still unknown') });
      expect(subject.clusterImpl.instance(0).updates).toHaveLength(1);
      expect(subject.harness.host.published).toHaveLength(before);
    });

    it('follows a change of its cluster without an update from its parent', () => {
      const subject = new Subject();
      subject.update({ c: leafOf(cluster, { priorities: [priority('a')] }) });
      const priorities = [priority('a', '127.0.0.9:80')];
      subject.store.set({ c: leafOf(cluster, { priorities }) });
      expect(subject.clusterImpl.instance(0).updates).toHaveLength(2);
      subject.store.set({ c: failedCluster('gone') });
      expect(subject.error).toBe('gone');
    });

    it('watches the cluster of its config until it is destroyed', () => {
      const subject = new Subject();
      const c = leafOf(cluster, { priorities: [priority('a')] });
      subject.update({ c });
      expect(subject.store.watched).toEqual(['c']);
      subject.harness.update(subject.policy, {
        config: new CdsConfig('d', false),
        endpoints: ok(emptyEndpointSet),
        xds: lbContext({ c }, subject.store),
      });
      expect(subject.store.watched).toEqual(['d']);
      subject.harness.batch.run(() => subject.policy.destroy());
      expect(subject.store.watched).toEqual([]);
    });

    it('hands on other channel options', () => {
      const subject = new Subject();
      const c = leafOf(cluster, { priorities: [priority('a')] });
      const options = { 'grpc.keepalive_time_ms': 1 };
      subject.update({ c });
      subject.update({ c }, { options });
      expect(subject.clusterImpl.instance(0).lastUpdate.options).toBe(options);
    });

    it('says since when it fails, until it is connected or idle', () => {
      const subject = new Subject();
      const { clock } = subject.harness;
      const c = leafOf(cluster, { priorities: [priority('a')], resolutionNote: 'EDS is stale' });
      subject.update({ c });
      const child = subject.clusterImpl.instance(0);
      const errorAt = (sinceMs: number) =>
        `refused (failing since ${toIso(sinceMs)}). Resolution note: EDS is stale`;
      const firstMs = clock.now();
      child.reportFailure('refused');
      expect(pickError(subject.harness.last.picker)).toBe(errorAt(firstMs));
      clock.advance(5000);
      child.report(CONNECTING);
      child.reportFailure('refused');
      expect(pickError(subject.harness.last.picker)).toBe(errorAt(firstMs));
      child.reportReady('ready');
      const laterMs = clock.now();
      child.reportFailure('refused');
      expect(pickError(subject.harness.last.picker)).toBe(errorAt(laterMs));
    });

    it('ends errors with those of the sources of the cluster, and follows their changes', () => {
      const subject = new Subject();
      const priorities = [priority('a')];
      subject.update({ c: leafOf(cluster, { priorities }) });
      subject.clusterImpl.instance(0).reportFailure('refused');
      expect(subject.error).toBe('refused');
      for (const resolutionNote of ['EDS is stale', 'EDS is late']) {
        subject.update({ c: leafOf(cluster, { priorities, resolutionNote }) });
        const text = `refused. Resolution note: ${resolutionNote}`;
        expect([subject.error, subject.harness.last.errorMessage]).toEqual([text, text]);
      }
      subject.update({ c: leafOf(cluster, { priorities }) });
      expect(subject.error).toBe('refused');
    });

    it.each([
      ['there are none', undefined],
      ['the list is empty', []],
    ])('fails calls with the reason when %s', (_, priorities) => {
      const subject = new Subject();
      subject.update({ c: leafOf(cluster, { priorities: [priority('a')] }) });
      const resolutionNote = 'EDS resource "c" does not exist';
      subject.update({
        c: leafOf(
          cluster,
          priorities === undefined ? { resolutionNote } : { priorities, resolutionNote },
        ),
      });
      expect(subject.clusterImpl.live).toHaveLength(0);
      expect(subject.error).toBe(
        'Cluster "c" has no endpoints. Resolution note: EDS resource "c" does not exist',
      );
      subject.update({ c: leafOf(cluster, { priorities: [priority('a')] }) });
      subject.clusterImpl.instance(1).reportReady('back');
      expect(subject.error).toBe('back');
    });
  });

  describe('of an aggregate cluster', () => {
    const whole = aggregateCluster('c', 'x', 'y');

    it('sets up priority with one cds for each leaf', () => {
      const subject = new Subject();
      subject.update({
        c: aggregateOf(whole, 'x', 'y'),
        x: failedCluster('x?'),
        y: failedCluster('y?'),
      });
      const { config, xds } = subject.priority.instance(0).lastUpdate;
      expect(config instanceof PriorityConfig && [...config.priorities.keys()]).toEqual(['x', 'y']);
      expect(xds?.clusters).toBe(subject.store);
    });

    it('leaves it to its leaves to watch their clusters', () => {
      const subject = new Subject();
      const c = aggregateOf(whole, 'x');
      subject.update({ c, x: failedCluster('x?') });
      subject.store.set({ c, x: failedCluster('x!') });
      const { updates, lastUpdate } = subject.priority.instance(0);
      expect(updates).toHaveLength(1);
      expect(lastUpdate.xds?.clusters).toBe(subject.store);
    });

    it('fails calls when there is no leaf', () => {
      const subject = new Subject();
      subject.update({ c: aggregateOf(whole) });
      expect(subject.error).toBe(
        'Aggregate cluster "c" has no clusters to use: add one that exists',
      );
    });

    it('says since when it cannot be used, until it is connected', () => {
      const subject = new Subject();
      const { clock } = subject.harness;
      const c = aggregateOf(whole);
      const error = 'Aggregate cluster "c" has no clusters to use: add one that exists';
      const errorNow = () => `${error} (failing since ${toIso(clock.now())})`;
      subject.update({ c });
      expect(pickError(subject.harness.last.picker)).toBe(errorNow());
      subject.update({ c: aggregateOf(whole, 'x'), x: failedCluster('x?') });
      subject.priority.instance(0).reportReady('ready');
      clock.advance(5000);
      subject.update({ c });
      expect(pickError(subject.harness.last.picker)).toBe(errorNow());
    });

    it('may turn into a cluster with endpoints and back, without an interruption', () => {
      const subject = new Subject();
      subject.update({ c: aggregateOf(whole, 'x'), x: failedCluster('x?') });
      subject.priority.instance(0).reportReady('aggregate');
      subject.update({ c: leafOf(edsCluster('c'), { priorities: [priority('a')] }) });
      expect(subject.error).toBe('aggregate');
      subject.clusterImpl.instance(0).reportReady('leaf');
      expect(subject.error).toBe('leaf');
      expect(subject.priority.live).toHaveLength(0);
      subject.update({ c: aggregateOf(whole, 'x'), x: failedCluster('x?') });
      subject.priority.instance(1).reportReady('aggregate again');
      expect(subject.error).toBe('aggregate again');
      expect(subject.clusterImpl.live).toHaveLength(0);
    });
  });

  describe('when something is wrong', () => {
    const good = { c: leafOf(edsCluster('c'), { priorities: [priority('a')] }) };

    it('fails calls with the error of the cluster, and stops using what it had', () => {
      const subject = new Subject();
      subject.update(good);
      subject.update({ c: failedCluster('Cluster "c" does not exist (xDS node "n")') });
      expect(subject.harness.last.state).toBe(TRANSIENT_FAILURE);
      expect(subject.error).toBe('Cluster "c" does not exist (xDS node "n")');
      expect(subject.clusterImpl.live).toHaveLength(0);
    });

    it('publishes the same error once', () => {
      const subject = new Subject();
      subject.update({ c: failedCluster('gone') });
      subject.update({ c: failedCluster('gone'), d: failedCluster('gone') });
      expect(subject.harness.host.published).toHaveLength(1);
    });

    it('fails calls when the cluster is not part of the config', () => {
      const subject = new Subject();
      subject.update({});
      expect(subject.error).toBe('Cluster "c" is not part of the xDS config');
    });

    it('keeps its child when the cluster leaves the config', () => {
      const subject = new Subject();
      subject.update(good);
      subject.clusterImpl.instance(0).reportReady('serving');
      subject.update({});
      expect(subject.error).toBe('serving');
    });

    it('fails calls with the error of the resolver while there is no config', () => {
      const subject = new Subject();
      subject.updateError('Listener "l" does not exist');
      expect(subject.error).toBe('Listener "l" does not exist');
      subject.update(good);
      subject.clusterImpl.instance(0).reportReady('serving');
      subject.updateError('Listener "l" does not exist');
      expect(subject.error).toBe('serving');
    });

    it('fails calls under another resolver', () => {
      const subject = new Subject();
      subject.harness.updateEndpoints(subject.policy, new CdsConfig('c', false), emptyEndpointSet);
      expect(subject.error).toBe('cds_experimental works only under the xds resolver');
    });

    it('keeps serving a cluster that left the config, however its resource spells the name', () => {
      const subject = new Subject();
      subject.update({
        c: leafOf(edsCluster('C, spelled differently'), { priorities: [priority('a')] }),
      });
      subject.clusterImpl.instance(0).reportReady('serving');
      subject.update({});
      expect(subject.error).toBe('serving');
    });

    it('does not serve one cluster under the name of another', () => {
      const subject = new Subject();
      subject.update(good);
      subject.harness.update(subject.policy, {
        config: new CdsConfig('d', false),
        endpoints: ok(emptyEndpointSet),
        xds: lbContext(good),
      });
      expect(subject.error).toBe('Cluster "d" is not part of the xDS config');
    });
  });

  describe('of a dynamic cluster', () => {
    it('keeps the cluster in the config until it is destroyed', () => {
      const subject = new Subject('c', true);
      subject.update({});
      expect([...subject.store.subscriptions]).toEqual([['c', 1]]);
      subject.update({ c: leafOf(edsCluster('c'), { priorities: [priority('a')] }) });
      expect([...subject.store.subscriptions]).toEqual([['c', 1]]);
      expect(subject.store.subscribed).toBe(1);
      subject.harness.batch.run(() => subject.policy.destroy());
      expect([...subject.store.subscriptions]).toEqual([]);
    });

    it('queues calls until the cluster is part of the config', () => {
      const subject = new Subject('c', true);
      subject.update({});
      expect(subject.harness.last.state).toBe(CONNECTING);
      subject.update({ c: leafOf(edsCluster('c'), { priorities: [priority('a')] }) });
      subject.clusterImpl.instance(0).reportReady('serving');
      subject.update({});
      expect(subject.error).toBe('serving');
    });

    it('uses another cluster until the cluster is part of the config', () => {
      const subject = new Subject('c', true);
      const [c, d] = ['c', 'd'].map((name) =>
        leafOf(edsCluster(name), { priorities: [priority('a')] }),
      );
      if (c === undefined || d === undefined) throw new Error('There are two clusters');
      subject.update({ c });
      subject.clusterImpl.instance(0).reportReady('serving');
      const update = (clusters: Clusters) =>
        subject.harness.update(subject.policy, {
          config: new CdsConfig('d', true),
          endpoints: ok(emptyEndpointSet),
          xds: lbContext(clusters, subject.store),
        });
      update({ c });
      expect([...subject.store.subscriptions]).toEqual([['d', 1]]);
      update({});
      expect(subject.error).toBe('serving');
      update({ d });
      expect(subject.clusterImpl.instance(0).lastUpdate.config).toMatchObject({
        options: { cluster: 'd' },
      });
    });

    it('fails calls when the cluster cannot be used', () => {
      const subject = new Subject('c', true);
      subject.update({ c: failedCluster('gone') });
      expect(subject.error).toBe('gone');
    });

    it('keeps the new cluster instead when the config names another, and none when it is static', () => {
      const subject = new Subject('c', true);
      const send = (config: CdsConfig) =>
        subject.harness.update(subject.policy, {
          config,
          endpoints: ok(emptyEndpointSet),
          xds: lbContext({}, subject.store),
        });
      subject.update({});
      send(new CdsConfig('d', true));
      expect([...subject.store.subscriptions]).toEqual([['d', 1]]);
      send(new CdsConfig('d', false));
      expect([...subject.store.subscriptions]).toEqual([]);
    });

    it.each([true, false])('follows a cluster that was dynamic before: %s', (wasDynamic) => {
      const subject = new Subject('c', wasDynamic);
      const cluster = leafOf(edsCluster('c'), { priorities: [priority('a', '10.0.0.1:80')] });
      subject.update({ c: cluster });
      subject.harness.update(subject.policy, {
        config: new CdsConfig('c', !wasDynamic),
        endpoints: ok(emptyEndpointSet),
        xds: lbContext({ c: cluster }, subject.store),
      });
      expect(subject.store.watched).toEqual(['c']);
      subject.store.set({ c: failedCluster('gone') });
      expect(subject.error).toBe('gone');
    });

    it('moves its subscription to another resolver', () => {
      const subject = new Subject('c', true);
      const another = new FakeClusterStore();
      subject.update({});
      subject.harness.update(subject.policy, {
        config: new CdsConfig('c', true),
        endpoints: ok(emptyEndpointSet),
        xds: lbContext({}, another),
      });
      expect([...subject.store.subscriptions]).toEqual([]);
      expect([...another.subscriptions]).toEqual([['c', 1]]);
    });
  });

  it('subscribes to no static cluster', () => {
    const subject = new Subject();
    subject.update({});
    expect(subject.store.subscriptions.size).toBe(0);
  });
});

/** A cds of a cluster whose policy, a stub, connects on demand; above it are the real policies. */
class OnDemand {
  readonly leaves = new StubPolicyType('on_demand', { connectsOnDemand: true });
  readonly eager = new StubPolicyType('eager');
  readonly harness = new LbHarness([
    cdsPolicy,
    createClusterImplPolicyType({ counters: new CallCounterMap(new FakeClock()) }),
    priorityPolicy,
    this.leaves,
    this.eager,
  ]);
  readonly policy: LbPolicy = this.harness.create(cdsPolicy);

  update(cluster: ClusterResult): void {
    this.harness.update(this.policy, {
      config: new CdsConfig('c', false),
      endpoints: ok(emptyEndpointSet),
      xds: lbContext({ c: cluster }),
    });
  }

  /** What a call is told: `QUEUE` while it has to wait. */
  pick(): string {
    const result = describePick(pick(this.harness.last.picker));
    this.harness.clock.flush();
    return result;
  }

  get state(): ConnectivityState {
    return this.harness.last.state;
  }
}

describe('cds of a cluster whose policy connects on demand', () => {
  const using = (policyName: string, ...priorities: readonly PriorityEndpoints[]) =>
    leafOf({ ...edsCluster('c'), lbConfig: { policyName } }, { priorities });
  const [one, two] = [priority('a', '10.0.0.1:80'), priority('a', '10.0.0.2:80')];

  it('is IDLE and creates no child until the first call, which then waits for it', () => {
    const subject = new OnDemand();
    subject.update(using('on_demand', one));
    expect([subject.state, subject.leaves.instances.length]).toEqual([IDLE, 0]);
    expect(subject.pick()).toBe('QUEUE');
    expect(subject.pick()).toBe('QUEUE');
    expect(subject.leaves.instances).toHaveLength(1);
    subject.leaves.instance(0).reportReady('serving');
    expect(subject.pick()).toContain('serving');
  });

  it('creates the child for an application that waits for the channel', () => {
    const subject = new OnDemand();
    subject.update(using('on_demand', one));
    subject.harness.batch.run(() => subject.policy.exitIdle());
    subject.leaves.instance(0).report(IDLE);
    subject.harness.batch.run(() => subject.policy.exitIdle());
    expect(subject.leaves.instance(0).exitIdleCalls).toBe(1);
  });

  it('creates the child from the last update', () => {
    const subject = new OnDemand();
    subject.update(using('on_demand', one));
    subject.update(using('on_demand', two));
    expect(subject.harness.host.published).toHaveLength(1);
    subject.pick();
    const { endpoints } = subject.leaves.instance(0).lastUpdate;
    expect(endpoints.ok && endpoints.value.localities).toEqual(two.localities);
    expect(subject.leaves.instance(0).updates).toHaveLength(1);
  });

  it('hands later updates on at once', () => {
    const subject = new OnDemand();
    subject.update(using('on_demand', one));
    subject.pick();
    subject.update(using('on_demand', two));
    expect(subject.leaves.instance(0).updates).toHaveLength(2);
  });

  it('reports at once that there are no endpoints', () => {
    const subject = new OnDemand();
    subject.update(using('on_demand', priority('a')));
    expect(subject.leaves.instances).toHaveLength(1);
    subject.leaves.instance(0).reportFailure('no endpoints');
    expect(subject.state).toBe(TRANSIENT_FAILURE);
  });

  it('stops waiting when the cluster gets a policy that connects by itself', () => {
    const subject = new OnDemand();
    subject.update(using('on_demand', one));
    subject.update(using('eager', one));
    subject.eager.instance(0).reportReady('serving');
    expect(subject.pick()).toContain('serving');
    expect(subject.leaves.instances).toHaveLength(0);
  });

  it('keeps serving when the cluster gets a policy that connects on demand', () => {
    const subject = new OnDemand();
    subject.update(using('eager', one));
    subject.eager.instance(0).reportReady('serving');
    subject.update(using('on_demand', one));
    expect(subject.leaves.instances).toHaveLength(1);
    expect(subject.pick()).toContain('serving');
  });

  it('fails calls when the cluster is removed, and waits for a call once it is added again', () => {
    const subject = new OnDemand();
    subject.update(using('on_demand', one));
    const { picker } = subject.harness.last;
    subject.update(failedCluster('gone'));
    expect(subject.pick()).toBe('TRANSIENT_FAILURE gone');
    expect(describePick(pick(picker))).toBe('QUEUE');
    subject.harness.clock.flush();
    expect(subject.leaves.instances).toHaveLength(0);
    subject.update(using('on_demand', two));
    expect(subject.state).toBe(IDLE);
    subject.pick();
    expect(subject.leaves.instances).toHaveLength(1);
  });

  it('makes nothing once it is destroyed', () => {
    const subject = new OnDemand();
    subject.update(using('on_demand', one));
    subject.harness.batch.run(() => subject.policy.destroy());
    subject.pick();
    expect(subject.leaves.instances).toHaveLength(0);
  });
});

/** A cds with the real policies below it, down to a stub for each priority. */
class Tree {
  readonly leaves = new StubPolicyType();
  readonly counters = new CallCounterMap(new FakeClock());
  readonly harness = new LbHarness([
    cdsPolicy,
    createClusterImplPolicyType({ counters: this.counters }),
    priorityPolicy,
    this.leaves,
  ]);
  readonly policy: LbPolicy = this.harness.create(cdsPolicy);
  private readonly config = new CdsConfig('c', false);

  update(clusters: Clusters): void {
    this.harness.update(this.policy, {
      config: this.config,
      endpoints: ok(emptyEndpointSet),
      xds: lbContext(clusters),
    });
  }

  get error(): string {
    return withoutSince(pickError(this.harness.last.picker));
  }
}

describe('cds with everything below it', () => {
  const lbConfig = { policyName: 'stub' };
  const eds = (name: string): ClusterResource => ({ ...edsCluster(name), lbConfig });
  const dns: ClusterResource = { ...dnsCluster('y', 'host', 80), lbConfig };
  const whole = aggregateOf(aggregateCluster('c', 'x', 'y'), 'x', 'y');
  const [one, two] = [priority('a', '10.0.0.1:80'), priority('b', '10.0.0.2:80')];

  it('touches only the priority whose endpoints changed', () => {
    const tree = new Tree();
    const resource = eds('c');
    tree.update({ c: leafOf(resource, { priorities: [one, two] }) });
    tree.leaves.instance(0).reportFailure('down');
    tree.leaves.instance(1).reportReady('second');
    tree.update({
      c: leafOf(resource, { priorities: [one, priority('b', '10.0.0.3:80')] }),
    });
    expect(tree.leaves.instance(0).updates).toHaveLength(1);
    expect(tree.leaves.instance(1).updates).toHaveLength(2);
  });

  it('keeps the children when priorities swap', () => {
    const tree = new Tree();
    const resource = eds('c');
    tree.update({ c: leafOf(resource, { priorities: [one, two] }) });
    tree.leaves.instance(0).reportFailure('down');
    tree.leaves.instance(1).reportReady('second');
    tree.update({ c: leafOf(resource, { priorities: [two, one] }) });
    expect(tree.leaves.instances).toHaveLength(2);
    expect(tree.leaves.live).toHaveLength(2);
    expect(tree.error).toBe('Cluster "c": second');
  });

  it('uses the next leaf of an aggregate cluster when all priorities of the first have failed', () => {
    const tree = new Tree();
    const x = leafOf(eds('x'), { priorities: [one, two] });
    const y = leafOf(dns, { priorities: [priority('')] });
    tree.update({ c: whole, x, y });
    tree.leaves.instance(0).reportFailure('first');
    expect(tree.leaves.live).toHaveLength(2);
    tree.leaves.instance(1).reportFailure('second');
    expect(tree.leaves.live).toHaveLength(3);
    tree.leaves.instance(2).reportReady('dns');
    expect(tree.error).toBe('Cluster "y": dns');
  });

  it('skips a leaf that cannot be used', () => {
    const tree = new Tree();
    const y = leafOf(dns, { priorities: [priority('')] });
    tree.update({ c: whole, x: failedCluster('Cluster "x" does not exist'), y });
    tree.leaves.instance(0).reportReady('dns');
    expect(tree.error).toBe('Cluster "y": dns');
  });

  it('reports the errors of all leaves when none can be used', () => {
    const tree = new Tree();
    tree.update({
      c: whole,
      x: failedCluster('Cluster "x" does not exist'),
      y: failedCluster('no such host'),
    });
    expect(tree.error).toBe(
      'no such host; before it failed priority 0 (x): Cluster "x" does not exist',
    );
    expect(tree.harness.host.published).toHaveLength(1);
  });

  it('requests re-resolution for the DNS leaf and not for the other', () => {
    const tree = new Tree();
    const x = leafOf(eds('x'), { priorities: [one] });
    tree.update({ c: whole, x, y: leafOf(dns, { priorities: [priority('')] }) });
    tree.leaves.instance(0).reportFailure('down');
    tree.leaves.instance(0).host.requestReresolution();
    expect(tree.harness.host.reresolutionRequests).toBe(0);
    tree.leaves.instance(1).host.requestReresolution();
    expect(tree.harness.host.reresolutionRequests).toBe(1);
  });

  it('releases everything when it is destroyed', () => {
    const tree = new Tree();
    const x = leafOf(eds('x'), { priorities: [one, two] });
    tree.update({ c: whole, x, y: leafOf(dns, { priorities: [priority('')] }) });
    tree.leaves.instance(0).reportFailure('down');
    tree.harness.batch.run(() => tree.policy.destroy());
    expect(tree.leaves.live).toHaveLength(0);
    expect(tree.harness.clock.pendingTimers).toBe(0);
    expect(tree.counters.size).toBe(0);
  });
});
