import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { CallCredentials } from '../../src/grpc-js';
import { createFaultFilter } from '../../src/http-filters/fault/fault-filter';
import { createGcpAuthnFilter } from '../../src/http-filters/gcp-authn/gcp-authn-filter';
import { HttpFilterRegistry } from '../../src/http-filters/registry';
import { routerFilter } from '../../src/http-filters/router/router-filter';
import { createStatefulSessionFilter } from '../../src/http-filters/stateful-session/stateful-session-filter';
import type { ListenerResource } from '../../src/resources/listener/listener';
import { createListenerResourceType } from '../../src/resources/listener/listener-parser';
import { Re2Compiler } from '../../src/resources/matching/re2-compiler';
import { systemClock } from '../../src/util/clock';
import { silentLogger } from '../../src/util/logger';
import { systemRandom } from '../../src/util/random';
import type { Result } from '../../src/util/result';
import { decodeWhole, type ResourceType } from '../../src/xds-client/resource-type';
import { extensions, serverWith } from '../resources/decode-json';
import { createOwnFilter } from './own-authorization';

/** The certificate provider instances of the bootstrap. */
const certificateProviders: ReadonlySet<string> = new Set(['default']);

/** All filters, of which those of clients are not for servers. */
export function createServerFilters(): HttpFilterRegistry {
  return new HttpFilterRegistry([
    createFaultFilter({ clock: systemClock, random: systemRandom }),
    createStatefulSessionFilter({ logger: silentLogger }),
    createGcpAuthnFilter(() => CallCredentials.createEmpty()),
    createOwnFilter(),
    routerFilter,
  ]);
}

/** Creates the resource type of the Listeners of servers. */
export function createServerListeners(
  filters = createServerFilters(),
): ResourceType<ListenerResource> {
  return createListenerResourceType({
    ...extensions,
    httpFilters: filters,
    regexes: new Re2Compiler(DEFAULT_LIMITS),
  });
}

/** Decodes a Listener. */
export function decodeServerListener(
  type: ResourceType<ListenerResource>,
  bytes: Uint8Array,
): Result<ListenerResource, readonly string[]> {
  const context = { server: serverWith(), certificateProviders, previous: () => undefined };
  return decodeWhole(type, bytes, context).result;
}
