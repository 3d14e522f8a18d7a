import type { ServerConfig } from '../bootstrap/bootstrap';
import type { ExtensionPoints } from './extension-points';

/** What the parsers of one resource share. */
export interface ParseContext {
  readonly extensions: ExtensionPoints;
  /** The server the resource came from. */
  readonly server: ServerConfig;
}

/** Whether the server may make the client send another authority than the application's (gRFC A81). */
export function isTrusted(server: ServerConfig): boolean {
  return server.features.has('trusted_xds_server');
}
