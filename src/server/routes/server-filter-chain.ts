import { Status } from '../../grpc-js';
import {
  enabledFilters,
  findMisfit,
  type ConfiguredFilter,
} from '../../http-filters/filter-overrides';
import type { AuthorizationRequest } from '../../http-filters/rbac/request';
import type { HttpFilterRegistry } from '../../http-filters/registry';
import type { Refusal, ServerFilter } from '../../http-filters/server-filter';
import type { HttpFilterInstance } from '../../resources/listener/listener';
import type { HttpFilterOverrides } from '../../resources/route-config/route-config';
import { errorMessage } from '../../util/errors';
import { quoteName } from '../../util/text';

/** The filters of the requests of a route, in the order in which they judge. */
export class ServerFilterChain {
  private constructor(
    private readonly filters: readonly { readonly name: string; readonly filter: ServerFilter }[],
  ) {}

  /**
   * Creates the filters of a chain that are enabled and do anything (gRFC A39).
   *
   * @param overrides Of the route and the virtual host; the first for an instance applies.
   */
  static create(
    instances: readonly HttpFilterInstance[],
    overrides: readonly HttpFilterOverrides[],
    registry: HttpFilterRegistry,
  ): ServerFilterChain {
    const filters = enabledFilters(instances, overrides).flatMap((configured) => {
      const filter = createFilter(configured, registry);
      return filter === undefined ? [] : [{ name: configured.name, filter }];
    });
    return new ServerFilterChain(filters);
  }

  /** Returns the refusal of the first filter that does not pass a request on; `undefined` if all do. Never throws. */
  judge(request: AuthorizationRequest): Refusal | undefined {
    for (const { name, filter } of this.filters) {
      let refusal: Refusal | undefined;
      try {
        refusal = filter.onRequest(request);
      } catch (error) {
        return refuseFailed(name, error);
      }
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }
}

/** A filter that cannot be created refuses all requests: without it, they would be unprotected. */
function createFilter(
  configured: ConfiguredFilter,
  registry: HttpFilterRegistry,
): ServerFilter | undefined {
  const { name, config, override } = configured;
  const misfit = findMisfit(configured, registry);
  if (misfit !== undefined) {
    return refuseAll({
      code: Status.UNAVAILABLE,
      details: misfit,
      reason: misfit,
      policy: undefined,
    });
  }
  try {
    return registry.createServerFilter(config, override, name);
  } catch (error) {
    return refuseAll(refuseFailed(name, error));
  }
}

function refuseAll(refusal: Refusal): ServerFilter {
  return { onRequest: () => refusal };
}

/** The caller is not told the error, which is one of the server. */
function refuseFailed(name: string, error: unknown): Refusal {
  const details = `HTTP filter ${quoteName(name)} failed`;
  return {
    code: Status.INTERNAL,
    details,
    reason: `${details}: ${errorMessage(error)}`,
    policy: undefined,
  };
}
