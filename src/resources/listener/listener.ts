import type { HttpFilterConfig } from '../extension-points';
import type { RouteConfigResource } from '../route-config/route-config';

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

/** A validated HttpConnectionManager, the client's part. */
export interface HttpConnectionManager {
  readonly routes: RouteSource;
  readonly httpFilters: readonly HttpFilterInstance[];
  /** `common_http_protocol_options.max_stream_duration` in milliseconds (gRFC A31); 0 means no limit. */
  readonly maxStreamDurationMs: number | undefined;
}

/** A validated Listener. Only an API listener can serve a client (gRFC A74 decides that, not the parser). */
export type ListenerResource =
  | {
      readonly kind: 'api-listener';
      readonly name: string;
      readonly httpConnectionManager: HttpConnectionManager;
    }
  | { readonly kind: 'socket-listener'; readonly name: string };
