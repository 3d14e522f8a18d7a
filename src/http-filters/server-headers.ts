import type { HeaderReader } from '../routing/matched-call';
import { readHeader, type AuthorizationRequest } from './rbac/request';

/**
 * Reads the headers of the requests of servers. By the rules of routing, binary ones are absent (gRFC A28). Other headers are those
 * that the request has: also pseudo headers, and those that clients set after routing.
 */
export const serverHeaders: HeaderReader<AuthorizationRequest> = {
  read: (name, request) => (name.endsWith('-bin') ? undefined : readHeader(name, request)),
};
