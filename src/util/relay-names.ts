/** The method by which a relay describes itself on its own address. The request is empty, the response JSON in UTF-8. */
export const RELAY_INSPECT_PATH = '/grpc_xds.Relay/Inspect';

/** The server is a relay of this host: the owner of its socket is checked before and after each connection. */
export const RELAY_FEATURE = 'grpc_xds_relay';
