import { Metadata, PickResultType } from '../../src/grpc-js';
import type {
  ChannelOptions,
  ConnectivityState,
  LbHelper,
  PickArgs,
  Picker,
  PickResult,
  SubchannelAddress,
} from '../../src/grpc-js';
import type { EndpointSet } from '../../src/lb/endpoint-set';
import { LbBatch } from '../../src/lb/lb-batch';
import type {
  LbEnvironment,
  LbHost,
  LbPolicy,
  LbPolicyLookup,
  LbPolicyType,
  LbUpdate,
} from '../../src/lb/lb-policy';
import { noMetadata } from '../../src/resources/endpoint-metadata';
import type { LocalityEndpoints, SocketAddress, XdsEndpoint } from '../../src/resources/endpoints';
import type { LbConfig } from '../../src/resources/extension-points';
import { silentLogger } from '../../src/util/logger';
import { ok } from '../../src/util/result';
import { FakeClock } from './fake-clock';
import { FakeSubchannel } from './lb-subchannel';

type ChannelzChild = Parameters<LbHelper['addChannelzChild']>[0];

/** One state a policy published. */
export interface PublishedState {
  readonly state: ConnectivityState;
  readonly picker: Picker;
  readonly errorMessage: string | null;
}

/** A channel as a policy sees it. Subchannels are pooled by address and options, as in grpc-js. */
export class FakeLbHost implements LbHost {
  /** Everything published, oldest first. */
  readonly published: PublishedState[] = [];
  /** Every call of `createSubchannel`, oldest first; a pooled subchannel appears again. */
  readonly created: FakeSubchannel[] = [];
  /** Every subchannel there ever was. */
  readonly subchannels: FakeSubchannel[] = [];
  reresolutionRequests = 0;
  /** Runs inside `updateState`, after it is recorded. */
  onPublished: (published: PublishedState) => void = () => {};
  private readonly channelzChildren = new Map<ChannelzChild, number>();
  private readonly pool = new Set<FakeSubchannel>();

  constructor(
    readonly environment: LbEnvironment,
    readonly depth = 0,
  ) {}

  createSubchannel(address: SubchannelAddress, options: ChannelOptions): FakeSubchannel {
    const subchannel = this.pooled(address, options) ?? this.open(address, options);
    this.created.push(subchannel);
    return subchannel;
  }

  updateState(state: ConnectivityState, picker: Picker, errorMessage: string | null): void {
    const published = { state, picker, errorMessage };
    this.published.push(published);
    this.onPublished(published);
  }

  requestReresolution(): void {
    this.reresolutionRequests++;
  }

  addChannelzChild(child: ChannelzChild): void {
    this.channelzChildren.set(child, (this.channelzChildren.get(child) ?? 0) + 1);
  }

  removeChannelzChild(child: ChannelzChild): void {
    const left = (this.channelzChildren.get(child) ?? 0) - 1;
    if (left === 0) this.channelzChildren.delete(child);
    else this.channelzChildren.set(child, left);
  }

  /** Channelz children now; zero proves that none was left behind. */
  get channelzChildCount(): number {
    return this.channelzChildren.size;
  }

  /** Subchannels somebody holds now. */
  get held(): readonly FakeSubchannel[] {
    return this.subchannels.filter((subchannel) => subchannel.refs > 0);
  }

  private pooled(address: SubchannelAddress, options: ChannelOptions): FakeSubchannel | undefined {
    for (const candidate of this.pool) {
      if (sameAddress(candidate.address, address) && sameOptions(candidate.options, options)) {
        return candidate;
      }
    }
    return undefined;
  }

  private open(address: SubchannelAddress, options: ChannelOptions): FakeSubchannel {
    const id = this.subchannels.length + 1;
    const subchannel: FakeSubchannel = new FakeSubchannel(id, address, options, () =>
      this.pool.delete(subchannel),
    );
    this.pool.add(subchannel);
    this.subchannels.push(subchannel);
    return subchannel;
  }
}

function sameAddress(a: SubchannelAddress, b: SubchannelAddress): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function sameOptions(a: ChannelOptions, b: ChannelOptions): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

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
  /** What `environment.random` answers. */
  random = 0;

  /** @param policies The policies children can be made of: a list, or a lookup. */
  constructor(policies: readonly LbPolicyType[] | LbPolicyLookup = []) {
    this.environment = {
      batch: this.batch,
      clock: this.clock,
      random: () => this.random,
      logger: silentLogger,
      policies: 'get' in policies ? policies : createLookup(policies),
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
    await new Promise((resolve) => setImmediate(resolve));
    this.clock.flush();
  }
}

function createLookup(policies: readonly LbPolicyType[]): LbPolicyLookup {
  return new Map(policies.map((type) => [type.name, type]));
}

/** Asks the picker for one pick. `attributes` are the call's, as set by the config selector. */
export function pick(
  picker: Picker,
  attributes: object = {},
  metadata = new Metadata(),
): PickResult {
  // The grpc-js border: typed as strings, passed by reference.
  const extraPickInfo = attributes as PickArgs['extraPickInfo'];
  return picker.pick({ metadata, extraPickInfo });
}

/** The address the picker chose; throws unless it chose one. */
export function pickAddress(picker: Picker, attributes: object = {}): string {
  const result = pick(picker, attributes);
  if (result.subchannel === null) throw new Error(`No subchannel picked: ${describePick(result)}`);
  return result.subchannel.getAddress();
}

/** The error text the picker fails calls with; throws if it does not. */
export function pickError(picker: Picker, attributes: object = {}): string {
  const result = pick(picker, attributes);
  if (result.status === null) throw new Error(`The pick did not fail: ${describePick(result)}`);
  return result.status.details;
}

/** `COMPLETE 10.0.0.1:80`, `QUEUE`, `TRANSIENT_FAILURE text` or `DROP text`. */
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

/** An endpoint with the given addresses; healthy, of weight 1, unless `fields` say otherwise. */
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

/** The endpoints of one locality, which is told apart by its region. */
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

/** A set of localities without children. */
export function makeEndpointSet(...localities: LocalityEndpoints[]): EndpointSet {
  return { localities, children: undefined };
}

/** A set with one locality of the given endpoints. */
export function singleLocality(...endpoints: (string | XdsEndpoint)[]): EndpointSet {
  return makeEndpointSet(makeLocality('r', endpoints));
}
