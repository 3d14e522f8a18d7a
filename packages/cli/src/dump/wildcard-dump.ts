import { clusterKind, endpointKind, listenerKind, routeKind } from 'grpc-xds/control-plane';
import {
  DiscoveryRequest,
  DiscoveryResponse,
  Resource,
} from '../../../../src/wire/generated/envoy/service/discovery/v3/discovery';
import type { Any } from '../../../../src/wire/generated/google/protobuf/any';
import { describeDuration } from '../../../../src/util/duration';
import { errorMessage } from '../../../../src/util/errors';
import { isJsonObject } from '../../../../src/wire/proto-json/json-object';
import type { Clock } from '../../../../src/util/clock';
import { err, ok, type Result } from '../../../../src/util/result';
import { StatusCode } from '../../../../src/util/status-code';
import type { Handle } from '../../../../src/util/handle';
import type { StreamStatus, Upstream, XdsStream } from '../client';
import { loadClient } from '../io';
import { resourceToJson, type DumpedResource } from './dump';
import { afterRunning } from '../../../../src/util/running-time';

const METHOD = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';
const WRAPPER = 'type.googleapis.com/envoy.service.discovery.v3.Resource';

/** Options of `dumpAll`. */
export interface DumpAllOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** The only listeners that are requested, without clusters. Default: all listeners and clusters. */
  readonly listeners?: readonly string[];
  /** Called with the server when another process has displaced the stream. */
  readonly onDisplaced: (serverUri: string) => void;
}

/** Milliseconds until the stream is opened again that another process has displaced: that process pauses longer the second time. */
const RETRY_MS = 1000;

/**
 * Requests all listeners and clusters of a control plane, or the given listeners, and the routes and endpoints that they name, over one
 * stream; over another one if another process displaces it.
 * Resources are not judged, so that those that clients reject are there too.
 *
 * @returns the resources that were received in time; an error if there was no response at all.
 */
export function dumpAll(
  upstream: Upstream,
  options: DumpAllOptions,
): Promise<Result<readonly DumpedResource[], string>> {
  const { serverUri, transport, node } = upstream;
  const { clock, timeoutMs } = options;
  return new Promise((resolve) => {
    let walk: WildcardWalk;
    let retry: Handle | undefined;
    const end = (failure: string) => {
      timer.release();
      retry?.release();
      walk.stop();
      transport.close();
      resolve(
        walk.hasResponse ? ok(walk.resources) : err(`control plane ${serverUri}: ${failure}`),
      );
    };
    let outcome = `no response within ${describeDuration(timeoutMs)}; is node id "${node.id}" known to it?`;
    const timer = afterRunning(clock, () => end(outcome), timeoutMs, true);
    const open = () => {
      walk = new WildcardWalk(upstream, options.listeners ?? [], (failure, status) => {
        if (status === undefined || !loadClient().isDisplaced(status)) {
          end(failure);
          return;
        }
        options.onDisplaced(serverUri);
        outcome = failure;
        retry = afterRunning(clock, open, RETRY_MS, true);
      });
    };
    open();
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
  private readonly onDone: () => void;
  private isFirst = true;
  private readonly stream: XdsStream;
  hasResponse = false;

  /** @param onEnd Called when all is received or the stream has ended, with the status of the server if it has one. */
  constructor(
    private readonly upstream: Upstream,
    private readonly listeners: readonly string[],
    onEnd: (failure: string, status?: StreamStatus) => void,
  ) {
    this.onDone = () => onEnd('no response');
    this.stream = upstream.transport.openStream(METHOD, {
      onSent: () => this.onSent(),
      onMessage: (bytes) => {
        const problem = this.onResponse(bytes);
        if (problem !== undefined) onEnd(`a response that cannot be read: ${problem}`);
      },
      onClosed: (status) => onEnd(describeEnd(status), status),
    });
    if (listeners.length === 0) this.request(clusterKind.typeUrl, []);
    this.request(listenerKind.typeUrl, [...listeners]);
    this.stream.read();
  }

  stop(): void {
    this.stream.close();
  }

  get resources(): readonly DumpedResource[] {
    return [...this.received.values()];
  }

  private onSent(): void {
    this.isSending = false;
    this.pump();
  }

  /** @returns why a message cannot be read. */
  private onResponse(bytes: Uint8Array): string | undefined {
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
    if (typeUrl === listenerKind.typeUrl) return [...this.listeners];
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
    const node = this.isFirst ? this.upstream.node : undefined;
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
