import type { SocketAddress } from '../endpoints/endpoints';
import type { HttpFilterConfig } from '../extension-points';
import type { RouteConfigResource } from '../route-config/route-config';
import type { CidrRange } from '../shared/address-parser';
import type { DownstreamTls } from '../tls/tls';

/** One HTTP filter of a listener, in chain order. The terminal router is the last. */
export interface HttpFilterInstance {
  /** Unique within the listener; overrides refer to it. */
  readonly name: string;
  readonly config: HttpFilterConfig;
  /** Disabled unless an override enables it (`HttpFilter.disabled`). */
  readonly disabled: boolean;
}

/** The source of the routes. */
export type RouteSource =
  | { readonly kind: 'inline'; readonly routeConfig: RouteConfigResource }
  | { readonly kind: 'rds'; readonly routeConfigName: string };

/** A validated HttpConnectionManager, of a client or a filter chain of a server. */
export interface HttpConnectionManager {
  readonly routes: RouteSource;
  readonly httpFilters: readonly HttpFilterInstance[];
  /** `common_http_protocol_options.max_stream_duration` in milliseconds (gRFC A31); 0 means no limit. */
  readonly maxStreamDurationMs: number | undefined;
}

/** A validated Listener of a client (gRFC A27). */
export interface ApiListener {
  readonly kind: 'api';
  readonly name: string;
  readonly httpConnectionManager: HttpConnectionManager;
}

/** Where the connections of a filter chain come from. */
export type ConnectionSource = 'any' | 'same-ip-or-loopback' | 'external';

/** The connections that a filter chain is for (gRFC A36). Empty lists match every connection. */
export interface FilterChainMatch {
  /** Of the local address. */
  readonly prefixRanges: readonly CidrRange[];
  /** Whether the chain is for plaintext connections explicitly, which is more specific than for any. */
  readonly isRawBuffer: boolean;
  readonly source: ConnectionSource;
  /** Of the remote address. */
  readonly sourcePrefixRanges: readonly CidrRange[];
  readonly sourcePorts: readonly number[];
}

/** How a server handles the connections of a filter chain. */
export interface FilterChain {
  /** May be empty. */
  readonly name: string;
  readonly httpConnectionManager: HttpConnectionManager;
  /** The TLS that the control plane asks for (gRFC A29); `undefined` if it asks for none. */
  readonly tls: DownstreamTls | undefined;
}

/** A filter chain that is chosen by its match. */
export interface MatchedFilterChain extends FilterChain {
  readonly match: FilterChainMatch;
}

/** A filter chain that no connection of a gRPC server matches, and which is left out. */
export interface UnmatchableFilterChain {
  readonly name: string;
  /** The criterion that never matches, as in the schema. */
  readonly criterion: string;
}

/** A validated Listener of a server (gRFC A36). */
export interface SocketListener {
  readonly kind: 'socket';
  readonly name: string;
  /** Where the server must listen for the listener to be used. Port 0 is every port. */
  readonly address: SocketAddress;
  /** Whether it is for TCP, as the connections of a gRPC server are. */
  readonly isTcp: boolean;
  readonly filterChains: readonly MatchedFilterChain[];
  /** For connections that no other chain matches; `undefined` if they are closed. */
  readonly defaultFilterChain: FilterChain | undefined;
  readonly unmatchable: readonly UnmatchableFilterChain[];
  /** The resource as it was sent: two listeners with the same bytes are one, from whichever management server they are. */
  readonly encoded: Uint8Array;
}

/** A validated Listener. Which kind its user can serve is not the parser's to decide (gRFCs A36, A74). */
export type ListenerResource = ApiListener | SocketListener;
