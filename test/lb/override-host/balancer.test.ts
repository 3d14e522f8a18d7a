import { ConnectivityState } from '../../../src/grpc-js';
import type { OverrideHost } from '../../../src/lb/call-attributes';
import { emptyEndpointSet, type EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { overrideHostPolicy } from '../../../src/lb/override-host/balancer';
import { OverrideHostConfig } from '../../../src/lb/override-host/config';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import type { HealthStatus, XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import { ok } from '../../../src/util/result';
import {
  describePick,
  LbHarness,
  makeEndpoint,
  pick,
  singleLocality,
} from '../../support/lb-harness';

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';
const C = '10.0.0.3:80';
const AN_HOUR_MS = 3_600_000;
const childPolicy = new RoundRobinConfig();

const healthy = (...addresses: readonly string[]) => makeEndpoint(addresses);
const draining = (...addresses: readonly string[]) =>
  makeEndpoint(addresses, { health: 'DRAINING' });

interface ConfigOptions {
  readonly statuses?: readonly HealthStatus[];
  readonly idleTimeoutMs?: number;
}

/** What one call asks for and learns. */
class Session implements OverrideHost {
  picked: readonly string[] | undefined;

  constructor(readonly addresses: readonly string[]) {}

  onPicked(addresses: readonly string[]): void {
    this.picked = addresses;
  }
}

class Scene {
  readonly harness = new LbHarness([roundRobinPolicy]);
  readonly policy = this.harness.create(overrideHostPolicy);

  update(
    endpoints: readonly (string | XdsEndpoint)[] | EndpointSet,
    {
      statuses = ['UNKNOWN', 'HEALTHY', 'DRAINING'],
      idleTimeoutMs = AN_HOUR_MS,
    }: ConfigOptions = {},
  ): void {
    const config = new OverrideHostConfig({
      statuses: new Set(statuses),
      idleTimeoutMs,
      childPolicy,
    });
    const set = 'localities' in endpoints ? endpoints : singleLocality(...endpoints);
    this.harness.update(this.policy, { config, endpoints: ok(set) });
  }

  /** Serves the endpoints, with every connection up that the child makes. */
  async serve(
    endpoints: readonly (string | XdsEndpoint)[],
    options: ConfigOptions = {},
  ): Promise<void> {
    this.update(endpoints, options);
    await this.harness.settle();
    this.harness.batch.run(() => {
      for (const subchannel of this.harness.host.held) {
        if (subchannel.getConnectivityState() !== ConnectivityState.READY) subchannel.connect();
      }
    });
    await this.harness.settle();
  }

  /** A call that asks for these addresses. */
  call(...addresses: readonly string[]): { result: string; picked: readonly string[] | undefined } {
    const session = new Session(addresses);
    const attributes = { cluster: 'cluster:c', overrideHost: session };
    const result = describePick(pick(this.harness.last.picker, attributes));
    return { result, picked: session.picked };
  }

  /** Where a call goes without a session. */
  plainCall(): string {
    return describePick(pick(this.harness.last.picker, { cluster: 'cluster:c' }));
  }

  /** How many hold the connections to an address. */
  refs(address: string): number {
    return this.harness.subchannel(address).refs;
  }

  /** The addresses that subchannels were ever created for. */
  get opened(): readonly string[] {
    const addresses = this.harness.host.subchannels.map((subchannel) => subchannel.getAddress());
    return [...new Set(addresses)].sort();
  }

  get publications(): number {
    return this.harness.host.published.length;
  }
}

describe('override_host without sessions', () => {
  it('leaves calls to the child, and makes no subchannels of its own', async () => {
    const scene = new Scene();
    await scene.serve([A, B]);
    const { created } = scene.harness.host;
    expect(new Set([scene.plainCall(), scene.plainCall()])).toEqual(
      new Set([`COMPLETE ${A}`, `COMPLETE ${B}`]),
    );
    expect(created.length).toBe(2);
    expect(scene.harness.clock.pendingTimers).toBe(0);
  });

  it('keeps endpoints from the child that are draining, whether sessions may use them or not', async () => {
    for (const statuses of [['HEALTHY', 'DRAINING'], ['HEALTHY']] as const) {
      const scene = new Scene();
      await scene.serve([healthy(A), draining(B)], { statuses });
      expect(scene.harness.host.created.map((subchannel) => subchannel.getAddress())).toEqual([A]);
    }
  });

  it('drops the connection of an endpoint that begins to drain', async () => {
    const scene = new Scene();
    await scene.serve([A, B]);
    scene.update([healthy(A), draining(B)]);
    expect(scene.refs(B)).toBe(0);
  });
});

describe('a call of a session', () => {
  it('learns where it went', async () => {
    const scene = new Scene();
    await scene.serve([makeEndpoint([A, B])]);
    const { result, picked } = scene.call();
    const used = result.replace('COMPLETE ', '');
    expect(picked).toEqual(used === A ? [A, B] : [B, A]);
  });

  it('uses the connection of the child to its endpoint', async () => {
    const scene = new Scene();
    await scene.serve([A, B, C]);
    for (let i = 0; i < 6; i++) {
      expect(scene.call(B)).toEqual({ result: `COMPLETE ${B}`, picked: [B] });
    }
    expect(scene.harness.host.subchannels.length).toBe(3);
  });

  it('prefers the address in use, and takes another of the endpoint', async () => {
    const scene = new Scene();
    await scene.serve([makeEndpoint([A, B]), C]);
    const used = scene.call(A, B).picked?.[0];
    expect(scene.call(B, A).picked?.[0]).toBe(used);
    expect([A, B]).toContain(used);
  });

  it.each(['READY', 'CONNECTING', 'IDLE'] as const)(
    'gets no subchannel to an address while another is %s (gRFC A75)',
    async (state) => {
      const scene = new Scene();
      await scene.serve([A, draining(B), draining(C)]);
      // The child has a subchannel to A, which no call of a session has used.
      if (state !== 'READY') {
        scene.harness.subchannel(A).disconnect();
        await scene.harness.settle();
        scene.harness.subchannel(A).setState(ConnectivityState[state]);
      }
      const expected = state === 'READY' ? `COMPLETE ${A}` : 'QUEUE';
      expect(scene.call(B, A, C).result).toBe(expected);
      await scene.harness.settle();
      expect(scene.opened).toEqual([A]);
    },
  );

  it('gets a subchannel to its first address without one when the others fail', async () => {
    const scene = new Scene();
    await scene.serve([A, draining(B), draining(C)]);
    expect(scene.call(A).result).toBe(`COMPLETE ${A}`);
    scene.harness.subchannel(A).fail('refused');
    expect(scene.call(A, B, C).result).toBe('QUEUE');
    await scene.harness.settle();
    expect(scene.opened).toEqual([A, B]);
    expect(scene.harness.subchannel(B).connectRequests).toBe(1);
    scene.harness.subchannel(B).fail('refused');
    scene.call(A, B, C);
    await scene.harness.settle();
    expect(scene.harness.subchannel(C).connectRequests).toBe(1);
  });

  it.each([
    ['that no endpoint has', '10.9.9.9:80'],
    ['is malformed', '__proto__'],
  ])('uses any endpoint when it requests an address that %s', async (_case, address) => {
    const scene = new Scene();
    await scene.serve([A]);
    expect(scene.call(address)).toEqual({ result: `COMPLETE ${A}`, picked: [A] });
  });

  it('moves when the health of its endpoint is not allowed', async () => {
    const scene = new Scene();
    await scene.serve([makeEndpoint(A, { health: 'UNKNOWN' }), healthy(B)], {
      statuses: ['HEALTHY'],
    });
    const seen = new Set([scene.call(A).result, scene.call(A).result]);
    expect(seen).toContain(`COMPLETE ${B}`);
  });

  it('connects to its endpoint, and waits for that', async () => {
    const scene = new Scene();
    await scene.serve([healthy(A), draining(B)]);
    const before = scene.publications;
    expect(scene.call(B)).toEqual({ result: 'QUEUE', picked: undefined });
    expect(scene.call(B).result).toBe('QUEUE');
    expect(scene.harness.subchannel(B).connectRequests).toBe(0);
    await scene.harness.settle();
    expect(scene.harness.subchannel(B).connectRequests).toBe(1);
    scene.harness.subchannel(B).setState(ConnectivityState.CONNECTING);
    expect(scene.publications).toBe(before);
    expect(scene.call(B).result).toBe('QUEUE');
    scene.harness.subchannel(B).setState(ConnectivityState.READY);
    expect(scene.publications).toBe(before + 1);
    expect(scene.call(B)).toEqual({ result: `COMPLETE ${B}`, picked: [B] });
  });

  it('moves while the connection fails', async () => {
    const scene = new Scene();
    await scene.serve([healthy(A), draining(B)]);
    scene.call(B);
    await scene.harness.settle();
    scene.harness.subchannel(B).fail('refused');
    expect(scene.call(B)).toEqual({ result: `COMPLETE ${A}`, picked: [A] });
    scene.harness.subchannel(B).setState(ConnectivityState.IDLE);
    expect(scene.call(B).result).toBe('QUEUE');
    await scene.harness.settle();
    scene.harness.subchannel(B).connect();
    expect(scene.call(B).result).toBe(`COMPLETE ${B}`);
  });

  it('publishes nothing when a connection changes that no call waits for', async () => {
    const scene = new Scene();
    await scene.serve([healthy(A), draining(B)]);
    scene.call(B);
    await scene.harness.settle();
    scene.harness.subchannel(B).connect();
    const before = scene.publications;
    scene.harness.subchannel(B).disconnect();
    expect(scene.publications).toBe(before);
  });

  it('is picked again when the endpoint it waits for is removed', async () => {
    const scene = new Scene();
    await scene.serve([healthy(A), draining(B)]);
    expect(scene.call(B).result).toBe('QUEUE');
    const before = scene.publications;
    scene.update([A]);
    expect(scene.publications).toBe(before + 1);
    expect(scene.call(B).result).toBe(`COMPLETE ${A}`);
    expect(scene.refs(B)).toBe(0);
  });

  it('continues while the child has no endpoints', async () => {
    const scene = new Scene();
    await scene.serve([A]);
    scene.call();
    scene.update([draining(A)]);
    expect(scene.harness.last.state).toBe(ConnectivityState.TRANSIENT_FAILURE);
    expect(scene.call(A)).toEqual({ result: `COMPLETE ${A}`, picked: [A] });
    expect(scene.plainCall()).toContain('TRANSIENT_FAILURE');
  });

  it('finds endpoints of every priority', async () => {
    const scene = new Scene();
    const child = { localities: [], children: new Map([['p1', singleLocality(B)]]) };
    scene.update({ ...child, localities: singleLocality(A).localities });
    await scene.harness.settle();
    scene.call(B);
    await scene.harness.settle();
    scene.harness.subchannel(B).connect();
    expect(scene.call(B).result).toBe(`COMPLETE ${B}`);
  });
});

describe('the connection of a session', () => {
  it('outlives the child, while its endpoint is draining', async () => {
    const scene = new Scene();
    await scene.serve([A, B]);
    scene.call(B);
    scene.update([healthy(A), draining(B)]);
    expect(scene.refs(B)).toBe(1);
    expect(scene.harness.subchannel(B).closed).toBe(false);
    expect(scene.call(B).result).toBe(`COMPLETE ${B}`);
  });

  it('ends when its endpoint begins to drain and that is not allowed', async () => {
    const scene = new Scene();
    await scene.serve([A, B], { statuses: ['HEALTHY'] });
    scene.call(B);
    scene.update([healthy(A), draining(B)], { statuses: ['HEALTHY'] });
    expect(scene.refs(B)).toBe(0);
    expect(scene.call(B)).toEqual({ result: `COMPLETE ${A}`, picked: [A] });
  });

  it('ends when its endpoint is removed', async () => {
    const scene = new Scene();
    await scene.serve([A, B]);
    scene.call(B);
    scene.update([A]);
    expect(scene.refs(B)).toBe(0);
  });

  it('is the same when its endpoint moves to another locality or priority', async () => {
    const scene = new Scene();
    const [a, b] = [healthy(A), healthy(B)];
    await scene.serve([a, b]);
    scene.call(B);
    const { closed } = scene.harness.subchannel(B);
    scene.update({
      localities: singleLocality(a).localities,
      children: new Map([['p1', singleLocality(b)]]),
    });
    expect([closed, scene.harness.subchannel(B).closed]).toEqual([false, false]);
    expect(scene.call(B).result).toBe(`COMPLETE ${B}`);
  });

  it('is not restored when the server ends it, before a call requests it', async () => {
    const scene = new Scene();
    await scene.serve([A, B]);
    scene.call(B);
    scene.update([healthy(A), draining(B)]);
    const before = scene.harness.subchannel(B).connectRequests;
    scene.harness.subchannel(B).disconnect();
    await scene.harness.settle();
    expect(scene.harness.subchannel(B).connectRequests).toBe(before);
  });

  it('ends when no call has used it for the idle timeout', async () => {
    const scene = new Scene();
    const idleTimeoutMs = 60_000;
    await scene.serve([A, B], { idleTimeoutMs });
    scene.call(B);
    scene.update([healthy(A), draining(B)], { idleTimeoutMs });
    const { clock } = scene.harness;
    clock.advance(40_000);
    scene.call(B);
    clock.advance(59_999);
    expect(scene.refs(B)).toBe(1);
    clock.advance(1);
    expect(scene.refs(B)).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is not looked at more often than every five seconds', async () => {
    const scene = new Scene();
    await scene.serve([A, B], { idleTimeoutMs: 1000 });
    scene.call(A);
    scene.update([draining(A), healthy(B)], { idleTimeoutMs: 1000 });
    scene.harness.clock.advance(4999);
    expect(scene.refs(A)).toBe(1);
    scene.harness.clock.advance(1);
    expect(scene.refs(A)).toBe(0);
  });

  it('ends by a new idle timeout at once', async () => {
    const scene = new Scene();
    await scene.serve([A, B]);
    scene.call(A);
    scene.update([draining(A), healthy(B)]);
    scene.harness.clock.advance(100_000);
    scene.update([draining(A), healthy(B)], { idleTimeoutMs: 60_000 });
    expect(scene.refs(A)).toBe(0);
  });

  it('ends with the policy', async () => {
    const scene = new Scene();
    await scene.serve([A, B]);
    scene.call(A);
    scene.call(B);
    const { picker } = scene.harness.last;
    scene.harness.batch.run(() => scene.policy.destroy());
    await scene.harness.settle();
    expect(scene.harness.host.held).toEqual([]);
    expect(scene.harness.clock.pendingTimers).toBe(0);
    expect(scene.harness.host.subchannels.map((s) => s.listenerCount)).toEqual([0, 0]);
    const late = new Session([A]);
    expect(() => pick(picker, { cluster: 'cluster:c', overrideHost: late })).not.toThrow();
    expect(late.picked).toBeUndefined();
    expect(scene.harness.host.held).toEqual([]);
  });

  it('ends when all endpoints are removed', async () => {
    const scene = new Scene();
    await scene.serve([A, B]);
    scene.call(A);
    scene.update(emptyEndpointSet);
    expect(scene.harness.host.held).toEqual([]);
  });
});
