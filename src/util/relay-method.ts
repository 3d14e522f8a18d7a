/** The component that a relay is, in `control_plane.identifier` of its responses. */
export const RELAY_COMPONENT = 'grpc-xds relay';

/** The method by which a relay describes itself on its own address. The request is empty, the response JSON in UTF-8. */
export const RELAY_INSPECT_PATH = '/grpc_xds.Relay/Inspect';

/** The target of a relay in reports and metrics. */
export const RELAY_TARGET = '#relay';
