import type { FilterExplanation } from '../../authorization/refusal';
import type { AuthorizationRequest, FilteredCall, PeerNames } from '../../authorization/request';
import type { ChannelStats } from '../../observe/stats/stats-plugin';
import { processStats } from '../../observe/stats/stats-registry';
import type { MatchMeter } from '../../resources/matching/match-meter';
import type { Logger } from '../../util/logger';
import { SERVER_TARGET } from '../../util/report-targets';
import { SocketAddress, type Address } from '../../wire/generated/envoy/config/core/v3/address';
import type { Judgement, ServerFilter, ServerRequest } from '../server-filter';
import { AuthorizedCall, type CheckedCall, type CheckEnvironment } from './authorized-call';
import type { Peers } from './check-messages';
import type { ExtAuthzSettings } from './ext-authz-parser';

/** What the calls of servers need. */
export interface ServerEnvironment extends CheckEnvironment {
  readonly meter: MatchMeter;
  readonly logger: Logger;
}

/** The ext_authz filter of servers, which lets each request wait for the answer of the authorization server (gRFC A92). */
export class ExtAuthzServerFilter implements ServerFilter {
  private readonly stats: ChannelStats | undefined;

  constructor(
    private readonly settings: ExtAuthzSettings,
    private readonly instance: string,
    private readonly environment: ServerEnvironment,
  ) {
    this.stats = processStats.forChannel(SERVER_TARGET, environment.logger);
  }

  onRequest(request: ServerRequest): Judgement {
    const { settings, instance, environment } = this;
    const { filtered } = request;
    if (filtered === undefined) throw new Error('there is no call to ask for');
    const call = this.checkedCallOf(request, filtered);
    const authorized = new AuthorizedCall({ call, instance, settings, environment });
    const judgement = authorized.judge(filtered.headers);
    filtered.onEnd(() => authorized.end());
    return judgement;
  }

  explain(): FilterExplanation {
    const rule = { name: this.settings.service.target, mismatch: 'it is not asked here' };
    return { refusal: undefined, action: undefined, rules: [rule] };
  }

  private checkedCallOf(request: ServerRequest, filtered: FilteredCall): CheckedCall {
    return {
      method: request.path,
      peers: peersOf(request, filtered, this.settings),
      routing: { match: (find) => this.match(find) },
      startChild: (start) => filtered.startChild(() => start(filtered.deadlineMs)),
      onResponseHeaders: (change) => filtered.onResponseHeaders(change),
      count: (outcome) => this.stats?.series(`grpc.server_ext_authz.${outcome}_rpcs`, {})?.add(1),
    };
  }

  private match<T>(find: (meter: MatchMeter) => T): T {
    const { meter } = this.environment;
    meter.begin();
    let found: T;
    try {
      found = find(meter);
    } finally {
      meter.end();
    }
    const { exceeded } = meter;
    if (exceeded === undefined) return found;
    throw new Error(meter.describe(exceeded));
  }
}

function peersOf(
  { remote, local }: AuthorizationRequest,
  { tls }: FilteredCall,
  { includePeerCertificate }: ExtAuthzSettings,
): Peers {
  const certificate = includePeerCertificate ? tls?.peer?.certificate.toString() : undefined;
  return {
    source: {
      address: addressOf(remote),
      principal: principalOf(tls?.peer),
      certificate: encodeURIComponent(certificate ?? ''),
    },
    destination: {
      address: addressOf(local),
      principal: principalOf(tls?.local),
      certificate: '',
    },
  };
}

function addressOf({ address, port }: AuthorizationRequest['remote']): Address {
  const portSpecifier = { $case: 'portValue', value: port } as const;
  return {
    address: { $case: 'socketAddress', value: SocketAddress.create({ address, portSpecifier }) },
  };
}

/** Returns the name of an identity: the first of its URIs, or else of its DNS names, or else its subject. */
function principalOf(names: PeerNames | undefined): string {
  return names?.uriSans[0] ?? names?.dnsSans[0] ?? names?.subject ?? '';
}
