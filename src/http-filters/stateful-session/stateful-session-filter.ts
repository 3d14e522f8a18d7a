import type { Metadata, StatusObject } from '../../grpc-js';
import type { HttpFilterConfig } from '../../resources/extension-points';
import type { Logger } from '../../util/logger';
import type { CallAffinity, CallFilter, CallInfo } from '../call-filter';
import type { HttpFilter } from '../http-filter';
import {
  decodeSessionHost,
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
} from './session-config';
import { parseSessionConfig, parseSessionOverride } from './session-parser';

/** What the filter works with. */
export interface StatefulSessionFilterOptions {
  readonly logger: Logger;
}

const TRACER = 'xds_stateful_session';

/**
 * Keeps the calls of a session on one endpoint (gRFCs A55, A60). The endpoint is named by a cookie that the
 * application gets with the response headers, and sends along with the next calls of the session.
 *
 * It takes the policy `xds_override_host_experimental` to find the endpoint again.
 */
export function createStatefulSessionFilter({ logger }: StatefulSessionFilterOptions): HttpFilter {
  return {
    configTypes: [STATEFUL_SESSION],
    overrideTypes: [STATEFUL_SESSION_PER_ROUTE],
    isTerminal: false,
    parseConfig: parseSessionConfig,
    parseOverride: parseSessionOverride,
    prepare(config, override) {
      const { cookie } = asSessionConfig(override ?? config);
      if (cookie === undefined) return undefined;
      return {
        create: (call) => createSessionCall(cookie, call, logger),
        describe: () => ({ cookie }),
      };
    },
  };
}

function asSessionConfig(config: HttpFilterConfig): StatefulSessionConfig {
  if (config instanceof StatefulSessionConfig) return config;
  throw new Error(`The stateful session filter was given a ${config.configType}`);
}

/** `undefined` for a call that is none of the sessions'. */
function createSessionCall(
  cookie: SessionCookie,
  { method, headers, affinity }: CallInfo,
  logger: Logger,
): CallFilter | undefined {
  if (affinity === undefined || !matchesCookiePath(method, cookie.path)) return undefined;
  const value = findCookie(headers, cookie.name);
  const host = value === undefined ? undefined : decodeSessionHost(value);
  if (host === undefined) {
    if (value !== undefined) {
      logger.trace(TRACER, () => `${method}: cookie ${cookie.name} names no host: ${value}`);
    }
    affinity.prefer([]);
  } else {
    if (host.cluster !== '' && !affinity.chooseCluster(host.cluster)) {
      logger.trace(TRACER, () => `${method}: the route no longer has ${host.cluster}`);
    }
    affinity.prefer(host.addresses);
  }
  return new SessionCall(cookie, affinity, host && encodeSessionHost(host));
}

/** The filter of one call. */
class SessionCall implements CallFilter {
  private hasHeaders = false;

  /** @param known The value of the cookie the application has; `undefined` if it has none. */
  constructor(
    private readonly cookie: SessionCookie,
    private readonly affinity: CallAffinity,
    private readonly known: string | undefined,
  ) {}

  onResponseHeaders(headers: Metadata): Metadata {
    this.hasHeaders = true;
    this.tell(headers);
    return headers;
  }

  /** A server that has nothing but trailers to say belongs to the session all the same. */
  onStatus(status: StatusObject): StatusObject {
    if (!this.hasHeaders && isFromServer(status)) this.tell(status.metadata);
    return status;
  }

  /** Adds the cookie if the application does not have it, or has another one. */
  private tell(metadata: Metadata): void {
    const { picked: addresses, cluster } = this.affinity;
    if (addresses === undefined) return;
    const value = encodeSessionHost({ addresses, cluster });
    if (value !== this.known) metadata.add('set-cookie', formatSetCookie(this.cookie, value));
  }
}

/** Whether the trailers came from a server: what this process makes up has no headers of HTTP. */
function isFromServer({ metadata }: StatusObject): boolean {
  return metadata.get('content-type').length > 0;
}
