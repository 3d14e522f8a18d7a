import { createHash } from 'node:crypto';
import type { Limits, ShareReport } from 'grpc-xds';
import {
  describeShare,
  type Bootstrap,
  type InheritedResource,
  type RelayChoices,
  type ResourceSnapshot,
  type Shares as SharesOfProcess,
  type SharesOptions,
  type XdsTransport,
} from 'grpc-xds/internal';
import type { Clock } from '../../../../src/util/clock';
import { lazy } from '../../../../src/util/lazy';
import { ok, type Result } from '../../../../src/util/result';
import { toIso } from '../../../../src/util/since';
import type { ClaimedPath } from '../claimed-path';
import type * as Relays from '../relay-server';
import { describeUpstream, upstreamKey } from '../upstream';
import { AwaitedTransport } from './awaited-transport';
import { preparePrivateFolder, removeStaleSockets, threadSocketPath } from './private-folder';
import { RelayElection, type ServingRelay } from './relay-election';

/** Loaded lazily, because one process of all serves. */
const loadRelay = lazy<typeof Relays>(() => require('../relay-server'));

/** Characters of the hash that tells the sockets of several bootstraps apart. */
const HASH_LENGTH = 8;

/**
 * What a process shares with the others of its host (see `RegisterOptions.share`). Each bootstrap has a relay of its own: the first
 * one of the process that at the path, the others those at the path with a hash after it.
 */
export class Shares implements SharesOfProcess {
  /** By the `server_uri` of their relays. */
  private readonly shares = new Map<string, SocketShare>();
  /** By the values of `RegisterOptions.share`. */
  private readonly values = new Map<string, RelayChoices>();

  constructor(private readonly options: SharesOptions) {}

  /**
   * Adds what there is of a value, unless it has been added.
   *
   * @param share A checked value of `RegisterOptions.share`.
   * @param limits Those of relays of this process, if it is added.
   */
  use(share: string, limits: Partial<Limits> | undefined): RelayChoices {
    const known = this.values.get(share);
    if (known !== undefined) return known;
    /** The relays by `upstreamKey`. */
    const byUpstream = new Map<string, string>();
    const create = this.usePath(share, limits);
    let hasFirst = false;
    const choose = (bootstrap: Bootstrap, isOption: boolean) => {
      const key = upstreamKey(bootstrap);
      if (!byUpstream.has(key)) {
        const isFirst = !isOption && !hasFirst;
        byUpstream.set(key, create(bootstrap, isFirst ? undefined : hashOf(key)));
        hasFirst ||= isFirst;
      }
      return byUpstream.get(key);
    };
    const relays: RelayChoices = {
      ofProcess: (bootstrap) => choose(bootstrap, false),
      ofOption: (bootstrap) => choose(bootstrap, true),
    };
    this.values.set(share, relays);
    return relays;
  }

  private usePath(share: string, limits: Partial<Limits> | undefined) {
    const first = share === 'threads' ? threadSocketPath() : share;
    const prepareFolder = share === 'threads' ? createPreparation() : undefined;
    return (bootstrap: Bootstrap, hash: string | undefined): string => {
      const path = hash === undefined ? first : `${first}-${hash}`;
      const serverUri = `unix:${path}`;
      const serve = async (claim: ClaimedPath): Promise<ServingRelay> => {
        const relay = this.createRelay(serverUri, bootstrap, limits);
        await relay.start({ claim, inherited: acceptedOf(this.options.resourcesFrom(serverUri)) });
        return relay;
      };
      const upstream = describeUpstream(bootstrap);
      const election = new RelayElection({ ...this.options, path, upstream, prepareFolder, serve });
      this.shares.set(serverUri, new SocketShare(serverUri, election, this.options.clock));
      return serverUri;
    };
  }

  /** Creates a transport to a relay; `undefined` for other servers. */
  createTransport(
    serverUri: string,
    connect: () => Result<XdsTransport, string>,
  ): Result<XdsTransport, string> | undefined {
    const share = this.shares.get(serverUri);
    share?.start();
    return share && ok(share.createTransport(connect));
  }

  /** Describes all. */
  describe(): readonly ShareReport[] {
    return Array.from(this.shares.values(), (share) => {
      const report = share.describe();
      return { ...report, text: describeShare(report) };
    });
  }

  /**
   * Leaves all for good. A relay in this process ends: another process takes its place, and the loads that it has received are
   * reported.
   *
   * @returns A promise that is resolved when they are, or after `timeoutMs`.
   */
  async stop(timeoutMs: number): Promise<void> {
    const shares = [...this.shares.values()];
    this.shares.clear();
    this.values.clear();
    await Promise.all(shares.map((share) => share.stop(timeoutMs)));
  }

  private createRelay(
    listen: string,
    loaded: Bootstrap,
    { maxMessageBytes, maxCachedBytes }: Partial<Limits> = {},
  ): Relays.RelayServer {
    const { env, logger, clock } = this.options;
    const options = {
      listen,
      env,
      logger,
      clock,
      loaded,
      ...(maxMessageBytes !== undefined && { maxMessageBytes }),
      ...(maxCachedBytes !== undefined && { maxCachedBytes }),
    };
    return new (loadRelay().RelayServer)(options, 'register({ bootstrap })');
  }
}

/** Returns what makes the folder of the sockets of threads ready, which removes stale ones the first time. */
function createPreparation(): () => void {
  let isSwept = false;
  return () => {
    preparePrivateFolder();
    if (isSwept) return;
    isSwept = true;
    // The folder may be removed meanwhile.
    removeStaleSockets().catch(() => undefined);
  };
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, HASH_LENGTH);
}

function* acceptedOf(resources: Iterable<ResourceSnapshot>): IterableIterator<InheritedResource> {
  for (const { typeUrl, name, accepted } of resources) {
    if (accepted !== undefined) yield { typeUrl, name, ...accepted };
  }
}

/** The relay at a socket: in this process, or in another one. */
class SocketShare {
  private isStarted = false;

  constructor(
    readonly serverUri: string,
    private readonly election: RelayElection,
    private readonly clock: Clock,
  ) {}

  start(): void {
    this.isStarted = true;
    this.election.start();
  }

  describe(): Omit<ShareReport, 'text'> {
    const { role, state, takeovers, upstream, readyAtMs, clients } = this.election.describe();
    const common = {
      address: this.serverUri,
      upstream,
      role,
      takeovers,
      ...(clients !== undefined && { clients }),
    };
    if (!this.isStarted) return { ...common, state: 'unused' };
    if (state.kind === 'unavailable') return { ...common, state: state.kind, reason: state.reason };
    if (state.kind === 'electing' || readyAtMs === undefined)
      return { ...common, state: 'electing' };
    return { ...common, state: 'ready', pid: state.relay.pid, since: toIso(readyAtMs) };
  }

  createTransport(connect: () => Result<XdsTransport, string>): XdsTransport {
    const { election: relay, clock } = this;
    return new AwaitedTransport({ relay, connect, clock });
  }

  stop(timeoutMs: number): Promise<void> {
    return this.election.stop(timeoutMs);
  }
}
