import type { ServerConfig } from '../../bootstrap/bootstrap';
import { ANY_SERVICE } from '../../resources/extension-points';
import type { Result } from '../../util/result';
import { decodeWhole, type ResourceType } from '../../xds-client/resource-type';

/** A server without features, whose resources clients trust as by default. */
const SERVER: ServerConfig = {
  serverUri: 'given resources',
  channelCreds: { type: 'insecure', config: undefined },
  callCreds: [],
  features: new Set(),
  allowedServices: ANY_SERVICE,
  key: '',
};

/** The bootstrap is not given: each certificate provider that a resource names counts as being in it. */
const certificateProviders = { has: (name: string) => name !== '' };

/** Decodes a resource of a file or a dump as a client or server does. @returns the value, or all violations. */
export function decodeGiven<T>(
  type: ResourceType<T>,
  bytes: Uint8Array,
): Result<T, readonly string[]> {
  return decodeWhole(type, bytes, {
    server: SERVER,
    previous: () => undefined,
    certificateProviders,
  }).result;
}
