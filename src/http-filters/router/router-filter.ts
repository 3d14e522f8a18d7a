import { Router } from '../../generated/envoy/extensions/filters/http/router/v3/router';
import type { HttpFilterConfig } from '../../resources/extension-points';
import { decodeFilterMessage } from '../filter-message';
import type { HttpFilter } from '../http-filter';

const ROUTER = 'envoy.extensions.filters.http.router.v3.Router';
const routerConfig: HttpFilterConfig = { configType: ROUTER };

/** The end of every chain: sends the call to its cluster. None of its fields means anything to a client (gRFC A39). */
export const routerFilter: HttpFilter = {
  configTypes: [ROUTER],
  overrideTypes: [ROUTER],
  isTerminal: true,
  parseConfig: (config, violations) =>
    decodeFilterMessage(config, Router, violations) && routerConfig,
  parseOverride(_config, violations) {
    violations.add('the router filter cannot be overridden');
    return undefined;
  },
  prepare: () => undefined,
};
