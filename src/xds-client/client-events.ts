import type { ServerConfig } from '../bootstrap/bootstrap';

/** What a client does, for metrics (gRFC A78). All methods are called from the client's queue. */
export interface ClientEvents {
  /** A server became unreachable or its stream failed before a response. */
  onServerFailure(server: ServerConfig): void;
  /** A response was read: how many of its resources were valid and how many not. */
  onResponse(server: ServerConfig, typeUrl: string, valid: number, invalid: number): void;
}

/** Listens to nothing. */
export const noClientEvents: ClientEvents = { onServerFailure() {}, onResponse() {} };
