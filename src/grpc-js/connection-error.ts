/**
 * The text of grpc-js's pick_first without a connection
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/load-balancer-pick-first.ts, `calculateAndReportNewState`).
 */
const CONNECTION_FAILED =
  /^No connection established\. Last error: (?:\w*Error(?: \[\w+\])?: )?(.*?)(?: \(\d{4}-\d\d-\d\dT[\d:.]+Z\))?(?:\. Resolution note: (.*))?$/s;

/** The text of grpc-js's pick_first for an endpoint that outlier detection has ejected (gRFC A50). */
const EJECTED = /^Picked subchannel .* is unhealthy$/s;

/** The cause where every subchannel had failed for another channel before, whose error pick_first does not know. */
const NO_CAUSE = 'null';

/**
 * The cause where the proxy of the environment did not open a tunnel: grpc-js rejects the connection without an error
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/http_proxy.ts, `getProxiedConnection`).
 */
const NO_TUNNEL = 'undefined';

/** The parts of an error of grpc-js's pick_first. */
export interface ConnectionError {
  /** Whether a connection failed, or none can be used for another reason. */
  readonly isConnectionFailure: boolean;
  /** Without the time of day, so that the same failure has the same text each time. */
  readonly cause: string;
  /** The resolution note; empty if there is none. */
  readonly note: string;
}

/** Parses the error of an endpoint. A text of another form is the cause as a whole. */
export function parseConnectionError(text: string): ConnectionError {
  const [whole, cause = text, note = ''] = CONNECTION_FAILED.exec(text) ?? [];
  return { isConnectionFailure: whole !== undefined, cause: nameCause(text, cause), note };
}

function nameCause(text: string, cause: string): string {
  if (EJECTED.test(text)) return 'ejected by outlier detection';
  if (cause === NO_TUNNEL)
    return 'the proxy of grpc_proxy, https_proxy or http_proxy did not connect';
  return cause === NO_CAUSE ? 'in backoff after a failure for another channel' : cause;
}
