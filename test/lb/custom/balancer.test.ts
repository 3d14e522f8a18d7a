import { ConnectivityState, Metadata } from '../../../src/grpc-js';
import { CustomLbPolicies } from '../../../src/lb/custom/custom-policies';
import { createCustomPolicyType } from '../../../src/lb/custom/balancer';
import type {
  CustomLbPolicy,
  LbCall,
  LbPolicyDefinition,
  LbPolicyHost,
  LbPolicyUpdate,
} from '../../../src/lb/custom/definition';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import { TypedStruct } from '../../../src/wire/generated/xds/type/v3/typed_struct';
import { Violations } from '../../../src/util/violations';
import { LbHarness, describePick, pick, pickError, singleLocality } from '../../support/lb-harness';
import { turns } from './support';

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';

function createRegistry(...definitions: LbPolicyDefinition<object>[]): LbPolicyRegistry {
  const policies = new CustomLbPolicies();
  const registry = new LbPolicyRegistry({ policies: [] });
  policies.addTo(registry);
  for (const definition of definitions) policies.register(definition);
  return registry;
}

describe('a policy of an application is found', () => {
  it.each(['xds.type.v3.TypedStruct', 'udpa.type.v1.TypedStruct'])('by %s', (type) => {
    const violations = Violations.root();
    const value = TypedStruct.encode({
      typeUrl: 'x/acme.v1.Turns',
      value: { fields: new Map() },
    }).finish();
    const typed = { typeUrl: `type.googleapis.com/${type}`, value };
    const config = createRegistry(turns).fromProto(typed, 0, violations);
    expect(violations.all).toEqual([]);
    expect(config).toMatchObject({ policyName: 'acme.v1.Turns' });
  });

  it('by the type of its message', () => {
    const typed = { typeUrl: 'type.googleapis.com/acme.v1.TurnsConfig', value: new Uint8Array() };
    const config = createRegistry(turns).fromProto(typed, 0, Violations.root());
    expect(config).toMatchObject({ policyName: 'acme.v1.Turns' });
  });

  it('by its name in JSON, and reports what is wrong with its config', () => {
    const violations = Violations.root();
    expect(createRegistry(turns).fromJson([{ 'acme.v1.Turns': 7 }], violations)).toBeUndefined();
    expect(violations.all).toEqual(['[0].acme.v1.Turns: must not be 7']);
  });

  it('in its newest version', () => {
    const parseConfig = (): object => {
      throw new AggregateError([new Error('a: is old'), new Error('b: is old')]);
    };
    const violations = Violations.root();
    createRegistry(turns, { ...turns, parseConfig }).fromJson(
      [{ 'acme.v1.Turns': {} }],
      violations,
    );
    expect(violations.all).toEqual([
      '[0].acme.v1.Turns: a: is old',
      '[0].acme.v1.Turns: b: is old',
    ]);
  });

  it('unless it takes the place of a policy that the tree is made of', () => {
    expect(() => createRegistry({ ...turns, name: 'cds_experimental' })).toThrow(
      'cds_experimental cannot be replaced',
    );
  });
});

/** A policy under test that does what the test says. */
function start(policy: Partial<CustomLbPolicy<object>>) {
  let host: LbPolicyHost | undefined;
  let update: LbPolicyUpdate<object> | undefined;
  const type = createCustomPolicyType<object>({
    ...turns,
    create(given) {
      host = given;
      return {
        onConnectionChanged: () => {},
        ...policy,
        update(newest): unknown {
          update = newest;
          const result: unknown = policy.update?.(newest);
          return result;
        },
      };
    },
  });
  const harness = new LbHarness();
  const running = harness.create(type);
  const parse = () => {
    const config = type.parseConfig({}, Violations.root(), { parseList: () => undefined });
    if (config === undefined) throw new Error('no config');
    return config;
  };
  const send = (...addresses: string[]) =>
    harness.updateEndpoints(running, parse(), singleLocality(...addresses));
  return {
    harness,
    send,
    publish: (state: Parameters<LbPolicyHost['publish']>[0]) => host?.publish(state),
    connections: () => update?.localities.flatMap(({ connections }) => connections) ?? [],
  };
}

describe('an exception of a policy', () => {
  it('in an update fails calls with the name of the policy, until the next update', () => {
    let fails = true;
    const { harness, send } = start({
      update() {
        if (fails) throw new Error('no idea');
      },
    });
    send(A);
    expect(pickError(harness.last.picker)).toBe(
      'Load-balancing policy acme.v1.Turns failed: no idea',
    );
    fails = false;
    send(A, B);
    expect(harness.last.state).toBe(ConnectivityState.CONNECTING);
    expect(harness.errors).toEqual([]);
  });

  it('in a change of a connection fails calls', async () => {
    const { harness, send, connections } = start({
      onConnectionChanged() {
        throw new Error('confused');
      },
    });
    send(A);
    connections()[0]?.connect();
    await harness.settle();
    expect(pickError(harness.last.picker)).toBe(
      'Load-balancing policy acme.v1.Turns failed: confused',
    );
    expect(harness.errors).toEqual([]);
  });

  it('in a promise fails calls as well, and does not end the process', () => {
    const { harness, send } = start({ update: (): unknown => Promise.reject(new Error('later')) });
    send(A);
    expect(pickError(harness.last.picker)).toBe(
      'Load-balancing policy acme.v1.Turns failed: its methods must not return promises',
    );
  });

  it('in a pick fails that call', () => {
    const { harness, send, publish } = start({});
    send(A);
    let calls = 0;
    publish({
      kind: 'ready',
      picker: {
        pick() {
          if (calls++ === 0) throw new Error('which one?');
          return undefined;
        },
      },
    });
    expect(pickError(harness.last.picker)).toBe(
      'Load-balancing policy acme.v1.Turns failed: which one?',
    );
    expect(describePick(pick(harness.last.picker))).toBe('QUEUE');
  });
});

describe('a pick', () => {
  it('can send headers along', () => {
    const { harness, send, publish } = start({});
    send(A);
    publish({
      kind: 'ready',
      picker: {
        pick(call) {
          call.setHeader('x-zone', `${String(call.header('x-zone')[0])}-a`);
          return undefined;
        },
      },
    });
    const metadata = new Metadata();
    metadata.add('x-zone', 'eu');
    pick(harness.last.picker, {}, metadata);
    expect(metadata.getMap()).toEqual({ 'x-zone': 'eu-a' });
  });

  it('fails the call when it sends a header that is not legal', () => {
    const { harness, send, publish } = start({});
    send(A);
    const picker = {
      pick(call: LbCall) {
        call.setHeader('x zone', 'a');
        return undefined;
      },
    };
    publish({ kind: 'ready', picker });
    expect(pickError(harness.last.picker)).toContain('x zone');
  });
});

describe('a connection', () => {
  it('requested by a pick is started after the pick, and serves when it is ready', async () => {
    const { harness, send, publish, connections } = start({});
    send(A);
    const [connection] = connections();
    publish({
      kind: 'idle',
      picker: {
        pick() {
          connection?.connect();
          return connection;
        },
      },
    });
    const { picker } = harness.last;
    expect(describePick(pick(picker))).toBe('QUEUE');
    expect(harness.host.subchannels).toHaveLength(0);
    await harness.settle();
    harness.batch.run(() => harness.subchannel(A).connect());
    expect(connection?.state).toBe('ready');
    expect(describePick(pick(picker))).toBe(`COMPLETE ${A}`);
  });

  it('stays the same object while its endpoint is listed', () => {
    const { send, connections } = start({});
    send(A, B);
    const [, before] = connections();
    send(B);
    expect(connections()).toEqual([before]);
    expect(connections()[0]).toBe(before);
  });

  it('has the description of its endpoint, including metadata', () => {
    const { harness, send, connections } = start({});
    send(A);
    const [connection] = connections();
    expect(connection?.endpoint).toMatchObject({
      weight: 1,
      metadata: { filterMetadata: new Map() },
    });
    expect(harness.errors).toEqual([]);
  });

  it('notifies its picker of the start and the end of its calls', async () => {
    const { harness, send, publish, connections } = start({});
    send(A);
    const [connection] = connections();
    connection?.connect();
    await harness.settle();
    harness.batch.run(() => harness.subchannel(A).connect());
    const seen: string[] = [];
    publish({
      kind: 'ready',
      picker: {
        pick: () => connection,
        onCallStarted: () => seen.push('started'),
        onCallEnded: (_, code) => seen.push(`ended ${code}`),
      },
    });
    const result = pick(harness.last.picker);
    result.onCallStarted?.();
    result.onCallEnded?.(14, '', new Metadata());
    expect(seen).toEqual(['started', 'ended 14']);
  });
});
