import {
  type ChannelOptions,
  Metadata,
  PickResultType,
  toPickInformation,
  type Picker,
  type PickResult,
} from '../grpc-js';
import { ConnectionAttempts } from '../lb/connections/connection-attempts';
import { ClusterUpdates } from '../lb/cds/cluster-updates';
import type { EndpointSet } from '../lb/endpoints/endpoint-set';
import { LbBatch } from '../lb/tree/lb-batch';
import type {
  LbContext,
  LbEnvironment,
  LbPolicy,
  LbPolicyLookup,
  LbPolicyType,
  LbUpdate,
} from '../lb/lb-policy';
import { TimeSlices } from '../util/time-slices';
import type { LbConfig } from '../resources/extension-points';
import { silentLogger } from '../util/logger';
import type { Random } from '../util/random';
import { ok, type Result } from '../util/result';
import { shareFields } from '../util/share';
import { FakeClock } from './fake-clock';
import { FakeLbHost, type PublishedState, type FakeSubchannel } from './fake-lb-host';
import {
  noMetadata,
  type LocalityEndpoints,
  type SocketAddress,
  type XdsEndpoint,
} from '../resources/endpoints/endpoints';

/** An update whose context has defaults. */
export interface PartialUpdate extends Partial<LbContext> {
  readonly config: LbConfig;
  readonly endpoints: Result<EndpointSet, string>;
}

/** The host and environment of a policy under test. */
export class LbHarness {
  readonly clock = new FakeClock();
  /** Exceptions that reached the batch; none from a correct policy. */
  readonly errors: unknown[] = [];
  readonly batch = new LbBatch((error) => this.errors.push(error));
  readonly environment: LbEnvironment;
  readonly host: FakeLbHost;
  /** The default options of updates. */
  readonly options: ChannelOptions = { 'grpc.primary_user_agent': 'test' };
  /** The result of `environment.random`, or its source. */
  random: number | Random = 0;
  private context: LbContext | undefined;

  /** @param policies The policies of children: a list, or a lookup. */
  constructor(policies: readonly LbPolicyType[] | LbPolicyLookup = []) {
    const timeSlices = new TimeSlices(this.clock);
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
        maxConnectionAttempts: Infinity,
      }),
      timeSlices,
      clusterUpdates: new ClusterUpdates(this.batch, timeSlices),
    };
    this.host = new FakeLbHost(this.environment);
  }

  /** Creates a policy at the root of the tree. */
  create(type: LbPolicyType): LbPolicy {
    return type.create(this.host);
  }

  /** Sends an update in a batch of its own. */
  update(policy: LbPolicy, update: PartialUpdate): void {
    this.send(policy, this.completeUpdate(update));
  }

  /** Sends a complete update in a batch of its own. */
  send(policy: LbPolicy, { config, endpoints, context }: LbUpdate): void {
    this.batch.run(() => policy.update(config, endpoints, context));
  }

  completeUpdate({ config, endpoints, ...given }: PartialUpdate): LbUpdate {
    const defaults = { options: this.options, xds: undefined };
    this.context = shareFields(this.context, { ...defaults, ...given });
    return {
      config,
      endpoints: endpoints.ok ? endpoints.value : endpoints.error,
      context: this.context,
    };
  }

  /** Sends an update with endpoints, given as a set or as addresses of one locality. */
  updateEndpoints(policy: LbPolicy, config: LbConfig, endpoints: EndpointSet): void {
    this.update(policy, { config, endpoints: ok(endpoints) });
  }

  /** Returns the newest subchannel to the address, such as `10.0.0.1:80`. */
  subchannel(address: string): FakeSubchannel {
    const found = this.host.subchannels.findLast((s) => s.getAddress() === address);
    if (found === undefined) throw new Error(`No subchannel to ${address} was created`);
    return found;
  }

  get last(): PublishedState {
    const last = this.host.published.at(-1);
    if (last === undefined) throw new Error('Nothing was published');
    return last;
  }

  /** Runs deferred work of grpc-js: pick_first requests connections in the next tick. */
  async settle(): Promise<void> {
    this.clock.flush();
    // eslint-disable-next-line no-restricted-globals -- grpc-js does not use the fake clock
    await new Promise((resolve) => setImmediate(resolve));
    this.clock.flush();
  }
}

function createLookup(policies: readonly LbPolicyType[]): LbPolicyLookup {
  return new Map(policies.map((type) => [type.name, type]));
}

/** Picks once. `attributes` are the call's, as set by the config selector. */
export function pick(
  picker: Picker,
  attributes: object = {},
  metadata = new Metadata(),
): PickResult {
  return picker.pick({ metadata, extraPickInfo: toPickInformation(attributes) });
}

/** Picks once and returns the address; throws unless the pick is complete. */
export function pickAddress(picker: Picker, attributes: object = {}): string {
  const result = pick(picker, attributes);
  if (result.subchannel === null) throw new Error(`No subchannel picked: ${describePick(result)}`);
  return result.subchannel.getAddress();
}

/** Picks once and returns the error text; throws unless the pick fails. */
export function pickError(picker: Picker, attributes: object = {}): string {
  const result = pick(picker, attributes);
  if (result.status === null) throw new Error(`The pick did not fail: ${describePick(result)}`);
  return result.status.details;
}

/** Formats a result: `COMPLETE 10.0.0.1:80`, `QUEUE`, `TRANSIENT_FAILURE text` or `DROP text`. */
export function describePick(result: PickResult): string {
  const detail = result.subchannel?.getAddress() ?? result.status?.details ?? '';
  return `${PickResultType[result.pickResultType]} ${detail}`.trim();
}

/** Parses `10.0.0.1:80` or `[::1]:80`. */
export function makeAddress(text: string): SocketAddress {
  const colon = text.lastIndexOf(':');
  const host = text.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  return { host, port: Number(text.slice(colon + 1)) };
}

/** Makes an endpoint with the given addresses; healthy and of weight 1, unless in `fields`. */
export function makeEndpoint(
  addresses: string | readonly string[],
  fields: Partial<XdsEndpoint> = {},
): XdsEndpoint {
  const list = typeof addresses === 'string' ? [addresses] : addresses;
  return {
    addresses: list.map(makeAddress),
    weight: 1,
    health: 'HEALTHY',
    hostname: '',
    hashKey: undefined,
    metadata: noMetadata,
    ...fields,
  };
}

/** Makes the endpoints of one locality, identified by its region. */
export function makeLocality(
  region: string,
  endpoints: readonly (string | XdsEndpoint)[],
  weight = 1,
): LocalityEndpoints {
  return {
    locality: { region, zone: '', subZone: '' },
    weight,
    endpoints: endpoints.map((e) => (typeof e === 'string' ? makeEndpoint(e) : e)),
  };
}

export function makeEndpointSet(...localities: LocalityEndpoints[]): EndpointSet {
  return { localities, children: undefined };
}

export function singleLocality(...endpoints: (string | XdsEndpoint)[]): EndpointSet {
  return makeEndpointSet(makeLocality('r', endpoints));
}
