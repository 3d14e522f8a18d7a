import type { ChannelOptions } from '../grpc-js';
import { ConnectionAttempts } from '../lb/connection-attempts';
import type { EndpointSet } from '../lb/endpoint-set';
import { LbBatch } from '../lb/lb-batch';
import type {
  LbEnvironment,
  LbPolicy,
  LbPolicyLookup,
  LbPolicyType,
  LbUpdate,
} from '../lb/lb-policy';
import { TimeSlices } from '../lb/time-slices';
import type { LbConfig } from '../resources/extension-points';
import { silentLogger } from '../util/logger';
import type { Random } from '../util/random';
import { ok } from '../util/result';
import { FakeClock } from './fake-clock';
import { FakeLbHost, type PublishedState } from './fake-lb-host';
import type { FakeSubchannel } from './fake-subchannel';

/** What an update may leave out: no error, no note, the harness's own options, no xds context. */
export type PartialUpdate = Pick<LbUpdate, 'config' | 'endpoints'> & Partial<LbUpdate>;

/** A policy under test with everything around it. */
export class LbHarness {
  readonly clock = new FakeClock();
  /** Exceptions that escaped into the batch. Empty, if policies do what they must. */
  readonly errors: unknown[] = [];
  readonly batch = new LbBatch((error) => this.errors.push(error));
  readonly environment: LbEnvironment;
  readonly host: FakeLbHost;
  /** The options every update carries unless it says otherwise. */
  readonly options: ChannelOptions = { 'grpc.primary_user_agent': 'test' };
  /** What `environment.random` answers, or where it takes its answers from. */
  random: number | Random = 0;

  /** @param policies The policies children can be made of: a list, or a lookup. */
  constructor(policies: readonly LbPolicyType[] | LbPolicyLookup = []) {
    this.environment = {
      batch: this.batch,
      clock: this.clock,
      random: () => (typeof this.random === 'number' ? this.random : this.random()),
      logger: silentLogger,
      policies: 'get' in policies ? policies : createLookup(policies),
      connectionAttempts: new ConnectionAttempts({
        clock: this.clock,
        random: () => 0.5,
        logger: silentLogger,
        // Its subchannels connect only when the test lets them.
        maxConnectionAttempts: Infinity,
      }),
      timeSlices: new TimeSlices(this.clock),
    };
    this.host = new FakeLbHost(this.environment);
  }

  /** Makes a policy at the root of the tree. */
  create(type: LbPolicyType): LbPolicy {
    return type.create(this.host);
  }

  /** Sends an update, as a batch of its own. */
  update(policy: LbPolicy, update: PartialUpdate): void {
    this.batch.run(() => policy.update(this.completeUpdate(update)));
  }

  /** Fills in what the update leaves out. */
  completeUpdate(update: PartialUpdate): LbUpdate {
    return { options: this.options, xds: undefined, resolutionNote: '', ...update };
  }

  /** Sends an update with endpoints, given as a set or as addresses of one locality. */
  updateEndpoints(policy: LbPolicy, config: LbConfig, endpoints: EndpointSet): void {
    this.update(policy, { config, endpoints: ok(endpoints) });
  }

  /** The newest subchannel to the address, such as `10.0.0.1:80`. */
  subchannel(address: string): FakeSubchannel {
    const found = this.host.subchannels.findLast((s) => s.getAddress() === address);
    if (found === undefined) throw new Error(`No subchannel to ${address} was created`);
    return found;
  }

  /** What was published last. */
  get last(): PublishedState {
    const last = this.host.published.at(-1);
    if (last === undefined) throw new Error('Nothing was published');
    return last;
  }

  /** Lets grpc-js do what it put off: connection requests of pick_first leave in the next tick. */
  async settle(): Promise<void> {
    this.clock.flush();
    // eslint-disable-next-line no-restricted-globals -- what grpc-js puts off is not put off by a clock of ours
    await new Promise((resolve) => setImmediate(resolve));
    this.clock.flush();
  }
}

function createLookup(policies: readonly LbPolicyType[]): LbPolicyLookup {
  return new Map(policies.map((type) => [type.name, type]));
}
