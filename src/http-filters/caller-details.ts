/**
 * The details of the statuses with which a server refuses requests, besides those of filters of an application. They go to remote
 * callers, and so name nothing of the mesh: no node, management server, resource, virtual host, filter or policy. The reason of a
 * refusal, for the log, has all of that.
 */
export const CallerDetails = {
  NO_VIRTUAL_HOST: 'no virtual host of this server is for the authority of the request',
  NO_ROUTE: 'no route of this server matches the request',
  ROUTE_NOT_KNOWN: 'the route of the request cannot be determined',
  WRONG_ACTION: 'the route of the request is not one that a server handles',
  NO_ROUTES: 'this server has no routes for the request',
  WRONG_METHOD: 'a gRPC server handles requests with the HTTP method POST only',
  NOT_JUDGED: 'the request cannot be judged',
} as const;

/** One of them. */
export type CallerDetail = (typeof CallerDetails)[keyof typeof CallerDetails];
