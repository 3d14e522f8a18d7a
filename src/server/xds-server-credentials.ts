import { ServerCredentials } from '../grpc-js';
import { checkArgument, withMethods } from '../util/check-arguments';

/** Accepts those of every copy of grpc-js. */
export const SERVER_CREDENTIALS = withMethods(
  'ServerCredentials of @grpc/grpc-js, such as ServerCredentials.createInsecure()',
  '_isSecure',
  '_addWatcher',
  '_removeWatcher',
  '_getSecureContextOptions',
  '_getInterceptors',
);

/**
 * Credentials of an {@link XdsServer}, which secure connections as their filter chain says (gRFC A29), and by the fallback if it
 * configures nothing. A server that is not an `XdsServer` uses the fallback.
 *
 * @example
 * ```ts
 * import { ServerCredentials } from '@grpc/grpc-js';
 * import { XdsServerCredentials } from 'grpc-xds/server';
 *
 * const credentials = new XdsServerCredentials(ServerCredentials.createInsecure());
 * ```
 */
export class XdsServerCredentials extends ServerCredentials {
  private readonly fallback: ServerCredentials;

  /**
   * @param fallback The credentials to use if the control plane configures no TLS. They are never used because of an error.
   * @throws XdsError if there is no fallback.
   */
  constructor(fallback: ServerCredentials) {
    checkArgument('new XdsServerCredentials()', 'fallback', fallback, SERVER_CREDENTIALS);
    super(null);
    this.fallback = fallback;
  }

  /** Returns the credentials to use if the control plane configures no TLS. */
  getFallbackCredentials(): ServerCredentials {
    return this.fallback;
  }

  override _isSecure(): boolean {
    return this.fallback._isSecure();
  }

  override _equals(other: ServerCredentials): boolean {
    return other instanceof XdsServerCredentials && this.fallback._equals(other.fallback);
  }

  override _getConstructorOptions(): ReturnType<ServerCredentials['_getConstructorOptions']> {
    return this.fallback._getConstructorOptions();
  }

  override _getSecureContextOptions(): ReturnType<ServerCredentials['_getSecureContextOptions']> {
    return this.fallback._getSecureContextOptions();
  }

  override _getInterceptors(): ReturnType<ServerCredentials['_getInterceptors']> {
    return this.fallback._getInterceptors();
  }

  override _addWatcher(watcher: Parameters<ServerCredentials['_addWatcher']>[0]): void {
    this.fallback._addWatcher(watcher);
  }

  override _removeWatcher(watcher: Parameters<ServerCredentials['_removeWatcher']>[0]): void {
    this.fallback._removeWatcher(watcher);
  }
}

/**
 * Creates {@link XdsServerCredentials}.
 *
 * @param fallback The credentials where the control plane configures no TLS.
 * @throws XdsError if there is no fallback.
 */
export function createXdsServerCredentials(fallback: ServerCredentials): ServerCredentials {
  checkArgument('createXdsServerCredentials()', 'fallback', fallback, SERVER_CREDENTIALS);
  return new XdsServerCredentials(fallback);
}

/**
 * Returns the fallback of xDS credentials, of every copy of this package, with interceptors around them or without; `undefined`
 * if they are no xDS credentials.
 */
export function xdsFallbackOf(credentials: ServerCredentials): ServerCredentials | undefined {
  if (isXdsCredentials(credentials)) return credentials.getFallbackCredentials();
  // Those of `createServerCredentialsWithInterceptors` of grpc-js, in which xDS credentials must not be overlooked:
  // https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/server-credentials.ts
  const child: unknown = Reflect.get(credentials, 'childCredentials');
  return isCredentials(child) ? xdsFallbackOf(child) : undefined;
}

/** They may be those of another copy of grpc-js, as the xDS credentials of another copy of this package are. */
function isCredentials(value: unknown): value is ServerCredentials {
  return SERVER_CREDENTIALS.accepts(value);
}

function isXdsCredentials(
  credentials: ServerCredentials,
): credentials is ServerCredentials & Pick<XdsServerCredentials, 'getFallbackCredentials'> {
  return 'getFallbackCredentials' in credentials;
}
