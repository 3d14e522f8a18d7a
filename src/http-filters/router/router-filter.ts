import { Router } from '../../wire/generated/envoy/extensions/filters/http/router/v3/router';
import type { HttpFilterConfig } from '../../resources/extension-points';
import type { ClientFilter } from '../client-filter';
import { decodeFilterMessage } from '../http-filter';
import type { ServerHttpFilter } from '../server-filter';

const ROUTER = 'envoy.extensions.filters.http.router.v3.Router';
const routerConfig: HttpFilterConfig = { configType: ROUTER };

/**
 * The last filter of every chain, which sends the call of a client to its cluster, and the request of a server to its handler. Its
 * fields are ignored (gRFC A39).
 */
export const routerFilter: ClientFilter & ServerHttpFilter = {
  configTypes: [ROUTER],
  overrideTypes: [ROUTER],
  isTerminal: true,
  parseConfig: (config, violations) =>
    decodeFilterMessage(config, Router, violations) && routerConfig,
  parseOverride(_config, violations) {
    return violations.add('the router filter cannot be overridden');
  },
  prepare: () => undefined,
  createServerFilter: () => undefined,
};
