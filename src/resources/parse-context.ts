import type { ServerConfig } from '../bootstrap/bootstrap';
import type { CertificateProviders } from '../xds-client/resource-type';
import type { ExtensionPoints, RegexCompiler } from './extension-points';

/** What the parsers of one resource share. */
export interface ParseContext {
  readonly extensions: ExtensionPoints;
  /** Counts the regular expressions of the resource. */
  readonly regexes: RegexCompiler;
  /** The server the resource came from. */
  readonly server: ServerConfig;
  /** The provider instances of the bootstrap (gRFC A29). Default: none. */
  readonly certificateProviders?: CertificateProviders | undefined;
}

/** The context of one resource. */
export function createParseContext(
  extensions: ExtensionPoints,
  server: ServerConfig,
): ParseContext {
  return { extensions, server, regexes: extensions.regexes.forResource() };
}

/** Whether the server may make the client send another authority than the application's (gRFC A81). */
export function isTrusted(server: ServerConfig): boolean {
  return server.features.has('trusted_xds_server');
}
