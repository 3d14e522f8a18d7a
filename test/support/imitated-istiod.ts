import { ControlPlane } from '../../src/control-plane';
import {
  AdsService,
  type AdsServiceOptions,
  type DiscoveryService,
} from '../../src/control-plane/ads/ads-service';
import type {
  AnyRequest,
  ProtocolOptions,
  ProtocolVariant,
  StreamProtocol,
} from '../../src/control-plane/ads/protocol-variants';
import type { ServedResources, ViewChanges } from '../../src/control-plane/ads/resource-view';
import type { PlannedResponse, RequestOutcome } from '../../src/control-plane/ads/subscriptions';
import { resourceKinds } from '../../src/control-plane/resource';
import {
  DeltaDiscoveryRequest,
  DiscoveryRequest,
} from '../../src/wire/generated/envoy/service/discovery/v3/discovery';

/** The requests of both variants. */
type Request = DiscoveryRequest | DeltaDiscoveryRequest;

/** The subscription to one type, which begins anew with each change of the resources. */
interface ImitatedType<Response> {
  readonly protocol: StreamProtocol<Request, Response>;
  /** What its nonces begin with. */
  readonly generation: number;
  lastNonce: string | undefined;
}

/**
 * Imitates istiod's protocol on one stream. istiod ignores a request, and the names in it, if the request rejects a response or has an
 * outdated nonce; it takes a state-of-the-world request without a nonce as the first of its type; and after each change of
 * the names or of the resources, it sends every subscribed one (https://github.com/istio/istio/blob/1.27.0/pkg/xds/server.go#L163,
 * https://github.com/istio/istio/blob/1.27.0/pilot/pkg/xds/delta.go#L353).
 */
class IstiodProtocol<Response> implements StreamProtocol<Request, Response> {
  readonly subscriptions = {
    onChanged: (next: ServedResources, _changes?: ViewChanges) => this.onChanged(next),
    heartbeats: () =>
      [...this.types.values()].flatMap((type) =>
        type.protocol.subscriptions.heartbeats().map((response) => this.stamp(type, response)),
      ),
    describe: () =>
      new Map(
        [...this.types.values()].flatMap(({ protocol }) => [...protocol.subscriptions.describe()]),
      ),
  };
  readonly hasTtl: boolean;
  private readonly types = new Map<string, ImitatedType<Response>>();
  /** Those of all generations, which are acknowledged late. */
  private readonly generations: ImitatedType<Response>[] = [];
  private readonly encoder: StreamProtocol<Request, Response>;
  private resources: ServedResources;

  constructor(
    private readonly variant: ProtocolVariant<Request, Response>,
    private readonly options: ProtocolOptions,
  ) {
    this.encoder = variant.createProtocol(options);
    this.hasTtl = this.encoder.hasTtl;
    this.resources = options.resources;
  }

  findExcess(request: Request): string | undefined {
    return this.encoder.findExcess(request);
  }

  onRequest(request: Request): RequestOutcome {
    const { typeUrl, responseNonce, errorDetail } = request;
    const known = this.types.get(typeUrl);
    const isOld = responseNonce !== '' && responseNonce !== (known?.lastNonce ?? responseNonce);
    if (errorDetail !== undefined || isOld)
      return this.ignore(request, this.ofNonce(responseNonce) ?? known);
    const isFirst = known === undefined || ('resourceNames' in request && responseNonce === '');
    const isChange = known !== undefined && !isFirst && changesNames(request, known);
    if (!isChange) return this.answer(request, isFirst ? this.begin(typeUrl) : known);
    const { acknowledgement } = this.ignore(request, known);
    const again = { ...request, responseNonce: '' };
    return { ...this.answer(again, this.begin(typeUrl)), acknowledgement };
  }

  private answer(request: Request, type: ImitatedType<Response>): RequestOutcome {
    const outcome = type.protocol.onRequest(withNonce(request, type.generation));
    return { ...outcome, response: outcome.response && this.stamp(type, outcome.response) };
  }

  encode(response: PlannedResponse): Response {
    return this.encoder.encode(response);
  }

  encodeHeartbeat(response: PlannedResponse): Response {
    return this.encoder.encodeHeartbeat(response);
  }

  /** Records what a request acknowledges or rejects, and nothing else of it. */
  private ignore(request: Request, known: ImitatedType<Response> | undefined): RequestOutcome {
    const nothing = { acknowledgement: undefined, subscribed: undefined, response: undefined };
    const state = known?.protocol.subscriptions.describe().get(request.typeUrl);
    if (known === undefined || state === undefined) return nothing;
    const names = [...state.subscribed, ...(state.wildcard ? ['*'] : [])];
    const unchanged =
      'resourceNames' in request
        ? { ...request, resourceNames: names }
        : { ...request, resourceNamesSubscribe: [], resourceNamesUnsubscribe: [] };
    const { acknowledgement } = known.protocol.onRequest(withNonce(unchanged, known.generation));
    return { ...nothing, acknowledgement };
  }

  private onChanged(next: ServedResources): readonly PlannedResponse[] {
    const previous = this.resources;
    this.resources = next;
    const sent = resourceKinds.map(({ typeUrl }) => typeUrl).filter((url) => this.types.has(url));
    return [...new Set([...this.types.keys(), ...sent])].flatMap((typeUrl) => {
      const state = this.types.get(typeUrl)?.protocol.subscriptions.describe().get(typeUrl);
      if (state === undefined || next.set(typeUrl) === undefined) return [];
      const names = [...state.subscribed, ...(state.wildcard ? ['*'] : [])];
      const type = this.begin(typeUrl);
      const known = state.wildcard ? [...(previous.set(typeUrl)?.byName.keys() ?? [])] : [];
      const request =
        this.variant.methodPrefix === 'Delta'
          ? DeltaDiscoveryRequest.create({
              typeUrl,
              resourceNamesSubscribe: names,
              initialResourceVersions: new Map(known.map((name) => [name, 'an earlier one'])),
            })
          : DiscoveryRequest.create({ typeUrl, resourceNames: names });
      const { response } = type.protocol.onRequest(request);
      return response === undefined ? [] : [this.stamp(type, response)];
    });
  }

  private ofNonce(nonce: string): ImitatedType<Response> | undefined {
    return this.generations[Number(nonce.split('.')[0] || NaN)];
  }

  private begin(typeUrl: string): ImitatedType<Response> {
    const protocol = this.variant.createProtocol({ ...this.options, resources: this.resources });
    const type = { protocol, generation: this.generations.length, lastNonce: undefined };
    this.generations.push(type);
    this.types.set(typeUrl, type);
    return type;
  }

  private stamp(type: ImitatedType<Response>, response: PlannedResponse): PlannedResponse {
    type.lastNonce = `${type.generation}.${response.nonce}`;
    return { ...response, nonce: type.lastNonce };
  }
}

/** Whether a state-of-the-world request has other names than the one before. */
function changesNames(request: Request, { protocol }: ImitatedType<unknown>): boolean {
  const state = protocol.subscriptions.describe().get(request.typeUrl);
  if (!('resourceNames' in request) || state === undefined) return false;
  const names = new Set(request.resourceNames);
  const known = new Set(state.subscribed);
  return names.size !== known.size || [...names].some((name) => !known.has(name));
}

/** Returns a request with the nonce that the protocol of its type knows. */
function withNonce(request: Request, generation: number): Request {
  const prefix = `${generation}.`;
  const { responseNonce: nonce } = request;
  const own = nonce.startsWith(prefix) ? nonce.slice(prefix.length) : nonce && 'an earlier one';
  return { ...request, responseNonce: own };
}

/** Wraps a variant of the protocol so that it behaves as in istiod. */
function imitateVariant<Received extends AnyRequest, Response>(
  variant: ProtocolVariant<Received, Response>,
): ProtocolVariant<Received, Response> {
  // There are these two.
  const known = variant as unknown as ProtocolVariant<Request, Response>;
  const imitated: ProtocolVariant<Request, Response> = {
    ...known,
    createProtocol: (options) => new IstiodProtocol(known, options),
  };
  return imitated as unknown as ProtocolVariant<Received, Response>;
}

class IstiodService extends AdsService {
  /** Ends the streams of all clients. */
  endAll(): void {
    for (const stream of [...this.streams]) stream.end();
  }

  protected override createMethod<Received extends AnyRequest, Response>(
    service: DiscoveryService,
    variant: ProtocolVariant<Received, Response>,
  ) {
    return super.createMethod(service, imitateVariant(variant));
  }
}

/** A control plane that imitates istiod. */
export class Istiod extends ControlPlane {
  protected override createAdsService(options: AdsServiceOptions): AdsService {
    return new IstiodService(options);
  }
}

/**
 * A control plane that imitates istio-agent, behind which is istiod. It keeps one discovery stream for all clients: each one that begins
 * ends the one before (https://github.com/istio/istio/issues/53532).
 */
export class IstioAgent extends ControlPlane {
  protected override createAdsService(options: AdsServiceOptions): AdsService {
    const nextStreamId = () => {
      service.endAll();
      return options.nextStreamId();
    };
    const service = new IstiodService({ ...options, nextStreamId });
    return service;
  }
}
