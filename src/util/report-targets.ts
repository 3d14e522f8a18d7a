/** The target of a relay in reports and metrics. */
export const RELAY_TARGET = '#relay';

/** The target of the client that the servers of a process share, instead of one for each of them (gRFC A71). */
export const SERVER_TARGET = '#server';
