import { ConnectivityState } from '../../../src/grpc-js';
import { createFailurePicker, queuePicker } from '../../../src/lb/connectivity';
import { emptyEndpointSet, type EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import type { LbHost, LbPolicy, LbPolicyType } from '../../../src/lb/lb-policy';
import { createPriorityPolicyType } from '../../../src/lb/priority/balancer';
import { PriorityConfig, type PriorityChildConfig } from '../../../src/lb/priority/config';
import type { LbConfig } from '../../../src/resources/extension-points';
import { silentLogger } from '../../../src/util/logger';
import { err, ok } from '../../../src/util/result';
import { LbHarness, describePick, pick, pickError, singleLocality } from '../../support/lb-harness';
import { StubPolicyType } from '../../support/lb-stub-policy';
import { priorityPolicy } from '../../support/lb-policies';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

const FAILOVER_MS = 10_000;
/** After which a failover is reported. */
const SETTLED_MS = 1000;
const RETENTION_MS = 15 * 60_000;

/** A priority policy whose children are stubs, found by the policy name `stub-<child>`. */
class Subject {
  readonly types = new Map<string, StubPolicyType>();
  readonly harness = new LbHarness({ get: (name) => this.type(name) });
  readonly policy: LbPolicy;
  private readonly configs = new Map<string, PriorityChildConfig>();

  constructor(type: LbPolicyType = priorityPolicy) {
    this.policy = this.harness.create(type);
  }

  private type(policyName: string): StubPolicyType {
    let type = this.types.get(policyName);
    if (type === undefined) this.types.set(policyName, (type = new StubPolicyType(policyName)));
    return type;
  }

  /** Sends an update with these children, best first. */
  update(names: string, endpoints: EndpointSet = { localities: [], children: new Map() }): void {
    const priorities = new Map(Array.from(names, (name) => [name, this.config(name)]));
    this.harness.updateEndpoints(this.policy, new PriorityConfig(priorities), endpoints);
  }

  config(name: string): PriorityChildConfig {
    let config = this.configs.get(name);
    if (config === undefined) {
      config = { config: { policyName: `stub-${name}` }, ignoreReresolutionRequests: false };
      this.configs.set(name, config);
    }
    return config;
  }

  setConfig(name: string, config: PriorityChildConfig): void {
    this.configs.set(name, config);
  }

  /** The policies made for a child. */
  stubs(name: string): StubPolicyType {
    return this.type(`stub-${name}`);
  }

  /** The policy of a child that lives; throws if there is none. */
  child(name: string) {
    const child = this.stubs(name).live.at(-1);
    if (child === undefined) throw new Error(`There is no child ${name}`);
    return child;
  }

  /** The children that live. */
  get alive(): string {
    return [...this.types]
      .filter(([, type]) => type.live.length > 0)
      .map(([name]) => name.replace('stub-', ''))
      .sort()
      .join('');
  }

  ready(name: string): void {
    this.child(name).reportReady(`picked ${name}`);
  }

  fail(name: string): void {
    this.child(name).reportFailure(`${name} is down`);
  }

  get state(): ConnectivityState {
    return this.harness.last.state;
  }

  get pick(): string {
    return describePick(pick(this.harness.last.picker));
  }

  get publications(): number {
    return this.harness.host.published.length;
  }
}

/** A subject whose first priority serves. */
function serving(names: string): Subject {
  const subject = new Subject();
  subject.update(names);
  subject.ready('a');
  return subject;
}

describe('the log of priority', () => {
  const lines: string[] = [];
  beforeEach(() => {
    lines.length = 0;
    for (const level of ['error', 'info'] as const) {
      jest.spyOn(silentLogger, level).mockImplementation((...[text]) => void lines.push(text()));
    }
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('names priorities by their localities, and others by their children', () => {
    const subject = new Subject();
    const inZones = (...zones: string[]): EndpointSet => ({
      localities: zones.map((zone) => ({
        locality: { region: 'r', zone, subZone: '' },
        weight: 1,
        endpoints: [],
      })),
      children: undefined,
    });
    const children = new Map([
      ['a', inZones('x')],
      ['b', inZones('y', 'z', 'u')],
    ]);
    subject.update('abc', { localities: [], children });
    for (const name of 'abc') subject.fail(name);
    const text =
      'c is down; before it failed priority 0 ({region="r", zone="x", sub_zone=""}): a is down; ' +
      'priority 1 ({region="r", zone="y", sub_zone=""} and 2 more): b is down';
    expect(pickError(subject.harness.last.picker)).toBe(text);
    subject.ready('a');
    subject.fail('a');
    subject.ready('c');
    subject.harness.clock.advance(60_000);
    expect(lines).toEqual([
      'Failover from priority 0 ({region="r", zone="x", sub_zone=""}) to priority 2 (c): a is down',
    ]);
  });

  it('has each failover with its reason, and the return from it', () => {
    const subject = serving('abc');
    expect(lines).toEqual([]);
    subject.fail('a');
    subject.fail('b');
    subject.ready('c');
    expect(lines).toEqual([]);
    subject.harness.clock.advance(SETTLED_MS);
    subject.ready('a');
    expect(lines).toEqual([
      'Failover from priority 0 (a) to priority 1 (b): a is down',
      'Failover from priority 1 (b) to priority 2 (c): b is down',
      'Failover ended: priority 0 (a) is used again',
    ]);
  });

  it('says what a priority was doing that has used up its time', () => {
    const subject = new Subject();
    subject.update('ab');
    subject.harness.clock.advance(FAILOVER_MS + SETTLED_MS);
    expect(lines).toEqual(['Failover from priority 0 (a) to priority 1 (b): it is not connected']);
  });

  it('has nothing about a priority that an update removes', () => {
    const subject = serving('ab');
    subject.update('b');
    subject.harness.clock.advance(SETTLED_MS);
    expect(lines).toEqual([]);
  });

  it('has nothing about a failover that is over, or whose priority is removed, within a second', () => {
    const subject = serving('abc');
    subject.fail('a');
    subject.ready('b');
    subject.ready('a');
    subject.harness.clock.advance(SETTLED_MS);
    subject.fail('a');
    subject.update('bc');
    subject.harness.clock.advance(SETTLED_MS);
    expect(lines).toEqual([]);
  });

  it('has the end of a failover once for each priority that is used again', () => {
    const subject = serving('abc');
    subject.fail('a');
    subject.fail('b');
    subject.ready('c');
    subject.harness.clock.advance(SETTLED_MS);
    lines.length = 0;
    subject.ready('b');
    subject.ready('a');
    subject.fail('a');
    subject.ready('a');
    expect(lines).toEqual([
      'Failover ended: priority 1 (b) is used again',
      'Failover ended: priority 0 (a) is used again',
    ]);
  });
});

describe('priority', () => {
  describe('while it starts', () => {
    it('creates only the first child', () => {
      const subject = new Subject();
      subject.update('ab');
      expect(subject.alive).toBe('a');
      expect(subject.state).toBe(CONNECTING);
      expect(subject.pick).toBe('QUEUE');
    });

    it('uses the first child when it is ready and never creates the others', () => {
      const subject = serving('abc');
      subject.harness.clock.advance(RETENTION_MS);
      expect(subject.pick).toContain('picked a');
      expect(subject.alive).toBe('a');
      expect(subject.harness.clock.pendingTimers).toBe(0);
    });

    it('creates the second child as soon as the first has failed', () => {
      const subject = new Subject();
      subject.update('ab');
      subject.fail('a');
      expect(subject.alive).toBe('ab');
      subject.ready('b');
      expect(subject.pick).toContain('picked b');
    });

    it('creates the second child when the first had 10 seconds', () => {
      const subject = new Subject();
      subject.update('ab');
      subject.harness.clock.advance(FAILOVER_MS - 1);
      expect(subject.alive).toBe('a');
      subject.harness.clock.advance(1);
      expect(subject.alive).toBe('ab');
    });

    it('gives each child its own 10 seconds', () => {
      const subject = new Subject();
      subject.update('abc');
      subject.harness.clock.advance(FAILOVER_MS);
      subject.harness.clock.advance(FAILOVER_MS - 1);
      expect(subject.alive).toBe('ab');
      subject.harness.clock.advance(1);
      expect(subject.alive).toBe('abc');
    });

    it('waits for the first child that still connects when all had their time', () => {
      const subject = new Subject();
      subject.update('abc');
      subject.fail('a');
      subject.harness.clock.advance(3 * FAILOVER_MS);
      expect(subject.alive).toBe('abc');
      expect(subject.state).toBe(CONNECTING);
      subject.fail('b');
      expect(subject.state).toBe(CONNECTING);
      subject.fail('c');
      const text =
        'c is down; before it failed priority 0 (a): a is down; priority 1 (b): b is down';
      expect(subject.pick).toBe(`TRANSIENT_FAILURE ${text}`);
      expect(subject.harness.last.errorMessage).toBe(text);
    });

    it('takes a child that begins idle and does not create the others', () => {
      const subject = new Subject();
      subject.update('ab');
      subject.child('a').report(IDLE);
      subject.harness.clock.advance(RETENTION_MS);
      expect(subject.state).toBe(IDLE);
      expect(subject.alive).toBe('a');
    });

    it('publishes once when all children fail as soon as they are created', () => {
      const failing = new FailingPolicyType();
      const harness = new LbHarness([failing]);
      const child = { config: { policyName: failing.name }, ignoreReresolutionRequests: false };
      const priorities = new Map(['a', 'b', 'c'].map((name) => [name, child]));
      const policy = harness.create(priorityPolicy);
      harness.updateEndpoints(policy, new PriorityConfig(priorities), emptyEndpointSet);
      expect(failing.created).toBe(3);
      expect(harness.host.published).toHaveLength(1);
      expect(pickError(harness.last.picker)).toBe(
        'failure 3; before it failed priority 0 (a): failure 1; priority 1 (b): failure 2',
      );
    });
  });

  describe('when a child in use changes', () => {
    it('switches down when it fails and back up when it recovers', () => {
      const subject = serving('abc');
      subject.fail('a');
      subject.ready('b');
      expect(subject.pick).toContain('picked b');
      subject.fail('b');
      subject.ready('c');
      expect(subject.pick).toContain('picked c');
      subject.ready('a');
      expect(subject.pick).toContain('picked a');
      expect(subject.alive).toBe('abc');
    });

    it('switches to a lower child at once if that is ready still', () => {
      const subject = serving('ab');
      subject.fail('a');
      subject.ready('b');
      subject.ready('a');
      const before = subject.publications;
      subject.fail('a');
      expect(subject.pick).toContain('picked b');
      expect(subject.publications).toBe(before + 1);
    });

    it('gives it 10 seconds to connect again', () => {
      const subject = serving('ab');
      subject.child('a').report(CONNECTING);
      expect(subject.state).toBe(CONNECTING);
      subject.harness.clock.advance(FAILOVER_MS - 1);
      expect(subject.alive).toBe('a');
      subject.harness.clock.advance(1);
      expect(subject.alive).toBe('ab');
    });

    it('gives it no more time when it connects again after a failure', () => {
      const subject = serving('ab');
      subject.fail('a');
      subject.ready('b');
      subject.child('a').report(CONNECTING);
      expect(subject.pick).toContain('picked b');
    });

    it('gives it no more time for reporting CONNECTING again', () => {
      const subject = new Subject();
      subject.update('ab');
      subject.harness.clock.advance(FAILOVER_MS);
      subject.ready('b');
      subject.child('a').report(CONNECTING);
      expect(subject.pick).toContain('picked b');
    });

    it('stops the failover timer when the child recovers', () => {
      const subject = serving('ab');
      subject.child('a').report(CONNECTING);
      subject.ready('a');
      subject.harness.clock.advance(FAILOVER_MS);
      expect(subject.alive).toBe('a');
      expect(subject.harness.clock.pendingTimers).toBe(0);
    });

    it('publishes the new picker of the child in use, and nothing of the others', () => {
      const subject = serving('ab');
      subject.fail('a');
      subject.ready('b');
      subject.ready('a');
      const before = subject.publications;
      subject.child('b').reportReady('another');
      subject.fail('b');
      expect(subject.publications).toBe(before);
      subject.child('a').reportReady('another');
      expect(subject.publications).toBe(before + 1);
    });
  });

  describe('children that left the configuration', () => {
    const withCache = createPriorityPolicyType({ flags: { priorityChildCache: true } });

    function afterRemoval(type: LbPolicyType): Subject {
      const subject = new Subject(type);
      subject.update('ab');
      subject.ready('a');
      subject.update('b');
      return subject;
    }

    it('are destroyed at once (gRFC A115)', () => {
      expect(afterRemoval(priorityPolicy).stubs('a').live).toHaveLength(0);
    });

    it('are kept for 15 minutes with the child policy cache', () => {
      const subject = afterRemoval(withCache);
      subject.harness.clock.advance(RETENTION_MS - 1);
      expect(subject.stubs('a').live).toHaveLength(1);
      subject.harness.clock.advance(1);
      expect(subject.stubs('a').live).toHaveLength(0);
    });

    it('serve again at once when they are added again in time, with the child policy cache', () => {
      const subject = afterRemoval(withCache);
      subject.harness.clock.advance(RETENTION_MS - 1);
      subject.update('ab');
      expect(subject.pick).toContain('picked a');
      expect(subject.stubs('a').instances).toHaveLength(1);
      subject.harness.clock.advance(RETENTION_MS);
      expect(subject.stubs('a').live).toHaveLength(1);
    });
  });

  describe('lower children that are not needed', () => {
    function withUnneeded(): Subject {
      const subject = serving('abc');
      subject.fail('a');
      subject.fail('b');
      subject.ready('c');
      subject.ready('a');
      return subject;
    }

    it('are destroyed after 15 minutes', () => {
      const subject = withUnneeded();
      subject.harness.clock.advance(RETENTION_MS - 1);
      expect(subject.alive).toBe('abc');
      subject.harness.clock.advance(1);
      expect(subject.alive).toBe('a');
      expect(subject.harness.clock.pendingTimers).toBe(0);
    });

    it('stay when they are needed again in time', () => {
      const subject = withUnneeded();
      subject.harness.clock.advance(RETENTION_MS - 1);
      subject.fail('a');
      expect(subject.pick).toContain('picked c');
      subject.harness.clock.advance(RETENTION_MS);
      expect(subject.alive).toBe('abc');
    });

    it('are created again when they are needed after the retention time', () => {
      const subject = withUnneeded();
      subject.harness.clock.advance(RETENTION_MS);
      subject.fail('a');
      expect(subject.alive).toBe('ab');
      expect(subject.stubs('b').instances).toHaveLength(2);
      subject.fail('b');
      subject.ready('c');
      expect(subject.pick).toContain('picked c');
    });

    it('have 15 minutes from when they were last needed', () => {
      const subject = withUnneeded();
      subject.harness.clock.advance(RETENTION_MS / 2);
      subject.child('a').reportReady('again');
      subject.fail('a');
      subject.ready('a');
      subject.harness.clock.advance(RETENTION_MS - 1);
      expect(subject.alive).toBe('abc');
    });

    it('are not kept longer for anything that happens to those in use', () => {
      const subject = withUnneeded();
      subject.harness.clock.advance(RETENTION_MS - 1);
      subject.child('a').reportReady('again');
      subject.harness.clock.advance(1);
      expect(subject.alive).toBe('a');
      expect(subject.harness.clock.pendingTimers).toBe(0);
    });

    it('still take updates', () => {
      const subject = withUnneeded();
      const endpoints = singleLocality('10.0.0.1:80');
      subject.update('abc', { localities: [], children: new Map([['c', endpoints]]) });
      expect(subject.child('c').lastUpdate.endpoints).toEqual(ok(endpoints));
    });
  });

  describe('when the config changes', () => {
    it('does not create an added lower child while a higher one is ready', () => {
      const subject = serving('a');
      subject.update('ab');
      expect(subject.alive).toBe('a');
    });

    it('does not create an added lower child while a higher one is idle', () => {
      const subject = new Subject();
      subject.update('a');
      subject.child('a').report(IDLE);
      subject.update('ab');
      expect(subject.alive).toBe('a');
      expect(subject.state).toBe(IDLE);
    });

    it('creates an added lower child at once when all the others have failed', () => {
      const subject = new Subject();
      subject.update('ab');
      subject.fail('a');
      subject.fail('b');
      expect(subject.pick).toBe(
        'TRANSIENT_FAILURE b is down; before it failed priority 0 (a): a is down',
      );
      subject.update('abc');
      expect(subject.alive).toBe('abc');
      expect(subject.state).toBe(CONNECTING);
      subject.ready('c');
      expect(subject.pick).toContain('picked c');
    });

    it('destroys a removed child at once, even if it was ready', () => {
      const subject = serving('ab');
      subject.fail('a');
      subject.ready('b');
      subject.update('a');
      expect(subject.alive).toBe('a');
      expect(subject.pick).toBe('TRANSIENT_FAILURE a is down');
    });

    it('creates a removed child again when it is added again', () => {
      const subject = serving('ab');
      subject.update('b');
      subject.update('ab');
      expect(subject.stubs('a').instances).toHaveLength(2);
    });

    it('uses the next child when the one in use is removed', () => {
      const subject = serving('ab');
      subject.update('b');
      expect(subject.alive).toBe('b');
      subject.ready('b');
      expect(subject.pick).toContain('picked b');
    });

    it('keeps children when only their order changes', () => {
      const subject = serving('ab');
      subject.fail('a');
      subject.ready('b');
      const child = subject.child('b');
      subject.update('ba');
      expect(subject.child('b')).toBe(child);
      expect(subject.pick).toContain('picked b');
      subject.harness.clock.advance(RETENTION_MS);
      expect(subject.alive).toBe('b');
    });

    it('switches to a ready child that moved up', () => {
      const subject = serving('abc');
      subject.fail('a');
      subject.ready('b');
      subject.ready('a');
      subject.update('ba');
      expect(subject.pick).toContain('picked b');
    });

    it('fails calls when there are no priorities any more, until there are', () => {
      const subject = serving('ab');
      subject.update('');
      expect(subject.alive).toBe('');
      expect(subject.state).toBe(TRANSIENT_FAILURE);
      expect(subject.pick).toBe('TRANSIENT_FAILURE There are no priorities to choose from');
      const before = subject.publications;
      subject.update('');
      expect(subject.publications).toBe(before);
      subject.update('ab');
      expect(subject.alive).toBe('a');
      expect(subject.pick).toBe('QUEUE');
      subject.ready('a');
      expect(subject.pick).toContain('picked a');
    });

    it('keeps the old child serving while the policy of a priority is replaced', () => {
      const subject = serving('a');
      subject.setConfig('a', {
        config: { policyName: 'stub-x' },
        ignoreReresolutionRequests: false,
      });
      subject.update('a');
      expect(subject.alive).toBe('ax');
      expect(subject.pick).toContain('picked a');
      subject.child('x').reportReady('picked x');
      expect(subject.alive).toBe('x');
      expect(subject.pick).toContain('picked x');
    });

    it('gives the new policy of an idle priority 10 seconds', () => {
      const subject = new Subject();
      subject.update('ab');
      subject.child('a').report(IDLE);
      subject.setConfig('a', {
        config: { policyName: 'stub-x' },
        ignoreReresolutionRequests: false,
      });
      subject.update('ab');
      expect(subject.state).toBe(CONNECTING);
      subject.harness.clock.advance(FAILOVER_MS);
      expect(subject.alive).toBe('bx');
    });

    it('stays with the lower child while the policy of a failed priority is replaced', () => {
      const subject = serving('ab');
      subject.fail('a');
      subject.ready('b');
      subject.setConfig('a', {
        config: { policyName: 'stub-x' },
        ignoreReresolutionRequests: false,
      });
      subject.update('ab');
      expect(subject.alive).toBe('bx');
      expect(subject.pick).toContain('picked b');
      subject.child('x').reportReady('picked x');
      expect(subject.pick).toContain('picked x');
    });

    it('chooses once, after the whole update was applied', () => {
      const subject = serving('ab');
      const child = subject.child('a');
      child.update = () => {
        // Were the choice made here, the second child would be created.
        child.host.updateState(TRANSIENT_FAILURE, createFailurePicker('down'), 'down');
        child.host.updateState(READY, queuePicker, null);
      };
      const before = subject.publications;
      subject.update('ab', { localities: [], children: new Map([['a', singleLocality()]]) });
      expect(subject.publications).toBe(before + 1);
      expect(subject.state).toBe(READY);
      expect(subject.alive).toBe('a');
    });
  });

  it('hands each child its own endpoints, and none to a child without', () => {
    const subject = new Subject();
    const endpoints = singleLocality('10.0.0.1:80');
    subject.update('ab', { localities: [], children: new Map([['a', endpoints]]) });
    subject.fail('a');
    expect(subject.child('a').lastUpdate.endpoints).toEqual(ok(endpoints));
    expect(subject.child('b').lastUpdate.endpoints).toEqual(ok(emptyEndpointSet));
  });

  it('updates only the child whose endpoints changed', () => {
    const subject = serving('ab');
    const [one, two] = [singleLocality('10.0.0.1:80'), singleLocality('10.0.0.2:80')];
    const children = new Map([
      ['a', one],
      ['b', two],
    ]);
    subject.update('ab', { localities: [], children });
    subject.fail('a');
    const updates = () => ['a', 'b'].map((name) => subject.child(name).updates.length);
    const before = updates();
    subject.update('ab', {
      localities: [],
      children: new Map([...children, ['b', singleLocality('10.0.0.3:80')]]),
    });
    expect(updates()).toEqual([before[0], (before[1] ?? 0) + 1]);
  });

  it('hands an error on to the children there are', () => {
    const subject = serving('ab');
    subject.harness.update(subject.policy, {
      config: new PriorityConfig(new Map([['a', subject.config('a')]])),
      endpoints: err('no such name'),
    });
    expect(subject.child('a').lastUpdate.endpoints).toEqual(err('no such name'));
  });

  it('forwards a request for re-resolution unless configured to ignore it', () => {
    const subject = serving('ab');
    subject.child('a').host.requestReresolution();
    expect(subject.harness.host.reresolutionRequests).toBe(1);
    // What the last update says counts, although the child saw nothing of it.
    subject.setConfig('a', { ...subject.config('a'), ignoreReresolutionRequests: true });
    subject.update('ab');
    subject.child('a').host.requestReresolution();
    expect(subject.harness.host.reresolutionRequests).toBe(1);
    expect(subject.child('a').updates).toHaveLength(1);
  });

  it('wakes the child in use, and only that', () => {
    const subject = serving('ab');
    subject.fail('a');
    subject.child('b').report(IDLE);
    subject.harness.batch.run(() => subject.policy.exitIdle());
    expect(subject.child('a').exitIdleCalls).toBe(0);
    expect(subject.child('b').exitIdleCalls).toBe(1);
  });

  it('resets the backoff of every child', () => {
    const subject = serving('ab');
    subject.fail('a');
    subject.harness.batch.run(() => subject.policy.resetBackoff());
    expect(subject.child('a').resetBackoffCalls).toBe(1);
    expect(subject.child('b').resetBackoffCalls).toBe(1);
  });

  it('leaves no timer behind when it is destroyed', () => {
    const subject = serving('abc');
    subject.fail('a');
    subject.ready('b');
    subject.child('b').report(CONNECTING);
    subject.ready('a');
    expect(subject.harness.clock.pendingTimers).toBeGreaterThan(0);
    subject.harness.batch.run(() => subject.policy.destroy());
    expect(subject.harness.clock.pendingTimers).toBe(0);
    expect(subject.alive).toBe('');
  });

  it('leaves no timer behind when a child is removed', () => {
    const subject = serving('ab');
    subject.fail('a');
    expect(subject.harness.clock.pendingTimers).toBe(2);
    subject.update('a');
    expect(subject.harness.clock.pendingTimers).toBe(0);
  });

  it('takes names such as constructor and __proto__ for names', () => {
    const subject = new Subject();
    const child = subject.config('a');
    const names = ['constructor', '__proto__'];
    const endpoints = singleLocality('10.0.0.1:80');
    subject.harness.updateEndpoints(
      subject.policy,
      new PriorityConfig(new Map(names.map((name) => [name, child]))),
      { localities: [], children: new Map([['__proto__', endpoints]]) },
    );
    const { instances } = subject.stubs('a');
    instances[0]?.reportFailure('down');
    expect(instances.map(({ lastUpdate }) => lastUpdate.endpoints)).toEqual([
      ok(emptyEndpointSet),
      ok(endpoints),
    ]);
  });
});

/** A policy that fails on its first update, from inside it. */
class FailingPolicyType implements LbPolicyType {
  readonly name = 'failing';
  created = 0;

  parseConfig(): LbConfig {
    return { policyName: this.name };
  }

  create(host: LbHost): LbPolicy {
    const text = `failure ${++this.created}`;
    return {
      update: () => host.updateState(TRANSIENT_FAILURE, createFailurePicker(text), text),
      exitIdle() {},
      resetBackoff() {},
      destroy() {},
    };
  }
}
