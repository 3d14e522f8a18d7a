import { clusterKind, endpointKind, listenerKind, routeKind } from '../../control-plane';
import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import {
  DiscoveryRequest,
  DiscoveryResponse,
  Resource,
} from '../../wire/generated/envoy/service/discovery/v3/discovery';
import type { Any } from '../../wire/generated/google/protobuf/any';
import { describeDuration } from '../../util/duration';
import { errorMessage } from '../../util/errors';
import { isJsonObject } from '../../wire/proto-json/explain-json';
import type { Clock } from '../../util/clock';
import { err, ok, type Result } from '../../util/result';
import { StatusCode } from '../../util/status-code';
import type { StreamStatus, Upstream, XdsStream } from '../client';
import { resourceToJson, type DumpedResource } from './dump';
import { afterRunning } from '../../util/running-time';

const METHOD = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';
const WRAPPER = 'type.googleapis.com/envoy.service.discovery.v3.Resource';

/** Options of `dumpAll`. */
export interface DumpAllOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** The only listeners that are requested, without clusters. Default: all listeners and clusters. */
  readonly listeners?: readonly string[];
}

/**
 * Requests all listeners and clusters of a control plane, or the given listeners, and the routes and endpoints that they name, over one
 * stream.
 * Resources are not judged, so that those that clients reject are there too.
 *
 * @returns the resources that were received in time; an error if there was no response at all.
 */
export function dumpAll(
  { serverUri, transport, node }: Upstream,
  { clock, timeoutMs, listeners = [] }: DumpAllOptions,
): Promise<Result<readonly DumpedResource[], string>> {
  return new Promise((resolve) => {
    const end = (failure: string) => {
      timer.release();
      stream.close();
      transport.close();
      resolve(
        walk.hasResponse ? ok(walk.resources) : err(`control plane ${serverUri}: ${failure}`),
      );
    };
    const silence = `no response within ${describeDuration(timeoutMs)}; is node id "${node.id}" known to it?`;
    const timer = afterRunning(clock, () => end(silence), timeoutMs, true);
    const stream: XdsStream = transport.openStream(METHOD, {
      onSent: () => walk.onSent(),
      onMessage: (bytes) => {
        const problem = walk.onResponse(bytes);
        if (problem !== undefined) end(`a response that cannot be read: ${problem}`);
      },
      onClosed: (status: StreamStatus) => end(describeEnd(status)),
    });
    const walk: WildcardWalk = new WildcardWalk(stream, { node, listeners }, () =>
      end('no response'),
    );
    walk.start();
  });
}

/** Says why a stream has ended, and what to do about it. */
function describeEnd({ code, details }: StreamStatus): string {
  return code === StatusCode.UNAVAILABLE
    ? `cannot be reached: ${details}; check the address, and that a control plane listens there`
    : `it ended the stream with status ${code}: ${details}; its log may say why`;
}

/** The requests and responses of one stream. */
class WildcardWalk {
  private readonly received = new Map<string, DumpedResource>();
  private readonly outbox: DiscoveryRequest[] = [];
  /** The types that were requested and not answered yet. */
  private readonly waiting = new Set<string>();
  private isSending = false;
  private isFirst = true;
  hasResponse = false;

  constructor(
    private readonly stream: XdsStream,
    private readonly options: { readonly node: Node; readonly listeners: readonly string[] },
    private readonly onDone: () => void,
  ) {}

  get resources(): readonly DumpedResource[] {
    return [...this.received.values()];
  }

  start(): void {
    const { listeners } = this.options;
    if (listeners.length === 0) this.request(clusterKind.typeUrl, []);
    this.request(listenerKind.typeUrl, [...listeners]);
    this.stream.read();
  }

  onSent(): void {
    this.isSending = false;
    this.pump();
  }

  /** @returns why a message cannot be read. */
  onResponse(bytes: Uint8Array): string | undefined {
    try {
      this.read(bytes);
      return undefined;
    } catch (error) {
      return errorMessage(error);
    }
  }

  private read(bytes: Uint8Array): void {
    const { typeUrl, versionInfo: version, nonce, resources } = DiscoveryResponse.decode(bytes);
    this.hasResponse = true;
    for (const item of resources) this.add(typeUrl, version, item);
    // Wildcard types name what the others are requested by.
    const names = this.namesOf(typeUrl);
    this.send({ typeUrl, versionInfo: version, responseNonce: nonce, resourceNames: names });
    this.waiting.delete(typeUrl);
    if (typeUrl === clusterKind.typeUrl) this.request(endpointKind.typeUrl, this.endpointNames());
    if (typeUrl === listenerKind.typeUrl) this.request(routeKind.typeUrl, this.routeNames());
    this.stream.read();
    if (this.waiting.size === 0) this.onDone();
  }

  private add(typeUrl: string, version: string, item: Any): void {
    const wrapped = item.typeUrl === WRAPPER ? Resource.decode(item.value) : undefined;
    const value = wrapped?.resource?.value ?? item.value;
    const resource = { typeUrl, name: '', status: '', version, value };
    const json = resourceToJson(resource);
    const own = isJsonObject(json) ? (json['name'] ?? json['cluster_name']) : undefined;
    const name = wrapped?.name !== undefined && wrapped.name !== '' ? wrapped.name : own;
    const named = { ...resource, name: typeof name === 'string' ? name : '' };
    this.received.set(`${typeUrl} ${named.name}`, named);
  }

  private namesOf(typeUrl: string): string[] {
    if (typeUrl === endpointKind.typeUrl) return this.endpointNames();
    if (typeUrl === listenerKind.typeUrl) return [...this.options.listeners];
    return typeUrl === routeKind.typeUrl ? this.routeNames() : [];
  }

  private endpointNames(): string[] {
    return this.jsonOf(clusterKind.typeUrl).flatMap((cluster) => {
      if (cluster['type'] !== 'EDS') return [];
      const config = cluster['eds_cluster_config'];
      const service = isJsonObject(config) ? config['service_name'] : undefined;
      const name = typeof service === 'string' && service !== '' ? service : cluster['name'];
      return typeof name === 'string' ? [name] : [];
    });
  }

  private routeNames(): string[] {
    return [...new Set(this.jsonOf(listenerKind.typeUrl).flatMap(findRouteNames))];
  }

  private jsonOf(typeUrl: string): readonly Readonly<Record<string, unknown>>[] {
    const own = this.resources.filter((resource) => resource.typeUrl === typeUrl);
    return own.map(resourceToJson).filter(isJsonObject);
  }

  /** Requests resources; without names, all of a type for which there is a wildcard. */
  private request(typeUrl: string, resourceNames: string[]): void {
    const isWildcard = typeUrl === clusterKind.typeUrl || typeUrl === listenerKind.typeUrl;
    if (resourceNames.length === 0 && !isWildcard) return;
    this.waiting.add(typeUrl);
    this.send({ typeUrl, resourceNames });
  }

  private send(request: Partial<DiscoveryRequest>): void {
    const node = this.isFirst ? this.options.node : undefined;
    this.isFirst = false;
    this.outbox.push(DiscoveryRequest.create({ ...request, ...(node && { node }) }));
    this.pump();
  }

  private pump(): void {
    if (this.isSending) return;
    const next = this.outbox.shift();
    if (next === undefined) return;
    this.isSending = true;
    this.stream.send(DiscoveryRequest.encode(next).finish());
  }
}

/** Finds the names of route configurations anywhere in a listener. */
function findRouteNames(json: unknown): readonly string[] {
  if (Array.isArray(json)) return json.flatMap(findRouteNames);
  if (!isJsonObject(json)) return [];
  return Object.entries(json).flatMap(([key, value]) =>
    key === 'route_config_name' && typeof value === 'string' && value !== ''
      ? [value]
      : findRouteNames(value),
  );
}
