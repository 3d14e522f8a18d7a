import type {
  ChannelOptions,
  ConnectivityState,
  LbHelper,
  Picker,
  SubchannelAddress,
} from '../grpc-js';
import type { LbEnvironment, LbHost } from '../lb/lb-policy';
import { FakeSubchannel } from './fake-subchannel';

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
