import { AssertionError } from 'node:assert';
import {
  lbPolicyContract,
  type CustomLbPolicy,
  type LbConnection,
  type LbPicker,
  type LbPolicyDefinition,
  type LbPolicyHost,
} from '../../src/testing';
import { turns } from '../lb/custom/support';

/** The names of the cases that the policy does not pass. */
async function failuresOf(
  policy: LbPolicyDefinition<object>,
  options: Partial<Parameters<typeof lbPolicyContract>[0]> = {},
): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const { name, run } of lbPolicyContract({ ...options, policy })) {
    await run().catch((error: unknown) => {
      if (!(error instanceof AssertionError)) throw error;
      failures.push(name);
    });
  }
  return failures;
}

/** The good policy, with something about it changed. */
function broken(
  change: (policy: CustomLbPolicy<object>, host: LbPolicyHost) => Partial<CustomLbPolicy<object>>,
): LbPolicyDefinition<object> {
  return {
    ...turns,
    create(host) {
      const policy = turns.create(host);
      return { ...policy, ...change(policy, host) };
    },
  };
}

describe('the contract of load-balancing policies', () => {
  it('is kept by a good policy', async () => {
    expect(await failuresOf(turns)).toEqual([]);
  });

  it('has cases with names of their own', () => {
    const names = lbPolicyContract({ policy: turns }).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(20);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each<[string, LbPolicyDefinition<object>, string]>([
    [
      'does not connect again',
      broken((policy) => ({
        onConnectionChanged(connection, previous) {
          if (connection.state !== 'idle') policy.onConnectionChanged(connection, previous);
        },
      })),
      'returns to READY after the connection was closed',
    ],
    [
      'uses one endpoint only',
      broken((policy) => ({
        update: ({ localities, ...others }) =>
          policy.update({
            ...others,
            localities: localities.map((locality) => ({
              ...locality,
              connections: locality.connections.slice(0, 1),
            })),
          }),
      })),
      'uses every endpoint',
    ],
    [
      'never publishes a failure',
      broken((_policy, host) => {
        const patient = turns.create({
          random: () => host.random(),
          publish: (state) => {
            host.publish(state.kind === 'failed' ? { kind: 'connecting' } : state);
          },
        });
        return patient;
      }),
      'fails calls with the connection error',
    ],
    [
      'keeps removed endpoints',
      broken((policy) => {
        const kept: LbConnection[] = [];
        return {
          update({ localities: [first], ...others }) {
            if (first === undefined) return;
            kept.push(...first.connections);
            policy.update({
              ...others,
              localities: [{ ...first, connections: [...new Set(kept)] }],
            });
          },
        };
      }),
      'moves to endpoints that are all new',
    ],
    [
      'throws',
      broken(() => ({
        onConnectionChanged() {
          throw new Error('confused');
        },
      })),
      'queues calls until a connection is up, then uses it',
    ],
  ])('is violated by a policy that %s', async (_, policy, failure) => {
    expect(await failuresOf(policy)).toContain(failure);
  });

  it('has options for a policy that connects for calls, and for one that uses one endpoint', async () => {
    const options = { connectsAtOnce: false, usesEveryEndpoint: false };
    const failures = await failuresOf(turns, options);
    expect(failures).toEqual(['connects when a call is picked', 'uses one endpoint only']);
  });

  it('makes calls with the headers of the options', async () => {
    const seen = new Set<string>();
    const policy = broken((_policy, host) =>
      turns.create({
        random: () => host.random(),
        publish(state) {
          const inner = state.kind === 'ready' ? state.picker : undefined;
          const picker: LbPicker = {
            pick(call) {
              seen.add(call.header('x-user').join());
              return inner?.pick(call);
            },
          };
          host.publish(inner === undefined ? state : { kind: 'ready', picker });
        },
      }),
    );
    expect(await failuresOf(policy, { headers: { 'x-user': 'alice' } })).toEqual([]);
    expect([...seen]).toEqual(['alice']);
  });

  it('throws the violations of the config', () => {
    expect(() => lbPolicyContract({ policy: turns, config: 7 })).toThrow(
      'acme.v1.Turns does not accept the config: must not be 7',
    );
  });
});
