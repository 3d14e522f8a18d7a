import type { Metadata, StatusObject } from '../../grpc-js';
import type { Logger } from '../../util/logger';
import type { CallAffinity, CallFilter } from '../call-filter';
import { meteredHeaders, type ClientFilter, type FilterCall } from '../client-filter';
import { asConfig } from '../http-filter';
import {
  decodeSessionHost,
  describeUnusable,
  encodeSessionHost,
  findCookie,
  formatSetCookie,
  matchesCookiePath,
} from './cookie';
import {
  STATEFUL_SESSION,
  STATEFUL_SESSION_PER_ROUTE,
  StatefulSessionConfig,
  type SessionCookie,
  parseSessionConfig,
  parseSessionOverride,
} from './session-parser';

export interface StatefulSessionFilterOptions {
  readonly logger: Logger;
}

const TRACER = 'xds_stateful_session';

/** The number of cookie names whose unusable values are logged, each once. */
const MAX_LOGGED_NAMES = 100;

/**
 * Creates the stateful session filter, which keeps the calls of a session on one endpoint (gRFCs A55, A60). A cookie
 * in the response headers names the endpoint; the application sends it with the next calls of the session.
 * The policy `xds_override_host_experimental` finds the endpoint.
 */
export function createStatefulSessionFilter({
  logger,
}: StatefulSessionFilterOptions): ClientFilter {
  const log = new UnusableCookieLog(logger);
  return {
    configTypes: [STATEFUL_SESSION],
    overrideTypes: [STATEFUL_SESSION_PER_ROUTE],
    isTerminal: false,
    parseConfig: parseSessionConfig,
    parseOverride: parseSessionOverride,
    prepare(config, override) {
      const { cookie } = asConfig(StatefulSessionConfig, override ?? config);
      if (cookie === undefined) return undefined;
      return {
        create: (call) => createSessionCall(cookie, call, log),
        describe: () => ({ cookie }),
      };
    },
  };
}

/** Creates the filter of a call; `undefined` if the cookie does not apply to the call. */
function createSessionCall(
  cookie: SessionCookie,
  call: FilterCall,
  log: UnusableCookieLog,
): CallFilter | undefined {
  const { method, headers, affinity } = call;
  if (affinity === undefined || !matchesCookiePath(method, cookie.path)) return undefined;
  const value = findCookie(meteredHeaders(headers, call), cookie.name);
  const host = value === undefined ? undefined : decodeSessionHost(value);
  if (host === undefined) {
    if (value !== undefined) log.noteValue(method, cookie.name, value);
    affinity.prefer([]);
  } else {
    if (host.cluster !== '' && !affinity.chooseCluster(host.cluster)) {
      log.logger.trace(TRACER, () => `${method}: the route no longer has ${host.cluster}`);
    }
    affinity.prefer(host.addresses);
  }
  return new SessionCall(cookie, affinity, host && encodeSessionHost(host));
}

/**
 * Logs the first unusable value of each cookie, as gRFC A55 requires. No line has the value, which belongs to a user and may be
 * the credentials of another service.
 */
class UnusableCookieLog {
  private readonly logged = new Set<string>();

  constructor(readonly logger: Logger) {}

  noteValue(method: string, name: string, value: string): void {
    this.logger.trace(
      TRACER,
      () => `${method}: cookie ${name} names no host: ${describeUnusable(value)}`,
    );
    if (this.logged.has(name) || this.logged.size >= MAX_LOGGED_NAMES) return;
    this.logged.add(name);
    // grpc-js has no level for warnings, and shows nothing below an error by default.
    this.logger.error(
      () =>
        `The cookie "${name}" of a call to ${method} names no endpoint, so that any is used: ` +
        `send the value of the set-cookie header unchanged (GRPC_TRACE=${TRACER} shows each)`,
    );
  }
}

class SessionCall implements CallFilter {
  private hasHeaders = false;

  /** @param known The value of the application's cookie; `undefined` if it has none. */
  constructor(
    private readonly cookie: SessionCookie,
    private readonly affinity: CallAffinity,
    private readonly known: string | undefined,
  ) {}

  onResponseHeaders(headers: Metadata): Metadata {
    this.hasHeaders = true;
    this.addCookie(headers);
    return headers;
  }

  /** A response of trailers only carries the cookie, too. */
  onStatus(status: StatusObject): StatusObject {
    if (!this.hasHeaders && isFromServer(status)) this.addCookie(status.metadata);
    return status;
  }

  /** Adds the cookie unless the application has the same one. */
  private addCookie(metadata: Metadata): void {
    const { picked: addresses, cluster } = this.affinity;
    if (addresses === undefined) return;
    const value = encodeSessionHost({ addresses, cluster });
    if (value === undefined || value === this.known) return;
    metadata.add('set-cookie', formatSetCookie(this.cookie, value));
  }
}

/** Whether the trailers came from a server: a status made in this process has no HTTP headers. */
function isFromServer({ metadata }: StatusObject): boolean {
  return metadata.get('content-type').length > 0;
}
