/** The method by which a relay describes itself on its own address. The request is empty, the response JSON in UTF-8. */
export const RELAY_INSPECT_PATH = '/grpc_xds.Relay/Inspect';

/** The target of a relay in reports and metrics. */
export const RELAY_TARGET = '#relay';
