import { Status } from '../grpc-js';
import { errorMessage } from '../util/errors';
import { quoteName } from '../util/text';
import { CallerDetails, type FilterExplanation, type Refusal } from '../authorization/refusal';
import type { Judgement, ServerFilter, ServerRequest } from './server-filter';
import { isFailure, toCallFailedError, toStatusObject } from './call-filter';
import { findMisfit, type ConfiguredFilter } from './filter-overrides';
import type { AuthorizationRequest } from '../authorization/request';
import type { HttpFilterRegistry } from './registry';

/** Creates the filters of servers. */
type ServerFilterCreator = Pick<HttpFilterRegistry, 'isOverrideOf' | 'createServerFilter'>;

/** The filters of the requests of a route, in the order in which they judge. */
export class ServerFilterChain implements ServerFilter {
  private constructor(private readonly filters: readonly NamedFilter[]) {}

  /** Creates those of the filters that do anything (gRFC A39). */
  static create(
    configured: readonly ConfiguredFilter[],
    creator: ServerFilterCreator,
  ): ServerFilterChain {
    const filters = configured.flatMap((each) => {
      const filter = createFilter(each, creator);
      return filter === undefined ? [] : [{ name: each.name, filter }];
    });
    return new ServerFilterChain(filters);
  }

  /** Returns the refusal of the first filter that does not pass a request on; `undefined` if all do. Never throws or rejects. */
  onRequest(request: ServerRequest, from = 0): Judgement {
    for (let position = from; ; position++) {
      const each = this.filters[position];
      if (each === undefined) return undefined;
      const { name, filter } = each;
      let judgement: Judgement;
      try {
        judgement = filter.onRequest(request);
      } catch (error) {
        return refusalOf(name, error);
      }
      if (judgement instanceof Promise) {
        return judgement.then(
          (refusal) => refusal ?? this.onRequest(request, position + 1),
          (error: unknown) => refusalOf(name, error),
        );
      }
      if (judgement !== undefined) return judgement;
    }
  }

  /** Explains what {@link onRequest} decides: the filters to the first that does not pass the request on. */
  explainEach(request: AuthorizationRequest): readonly NamedExplanation[] {
    return explainFilters(this.filters, request);
  }
}

/** A filter with the name of its instance, or of its policy. */
export interface NamedFilter {
  readonly name: string;
  readonly filter: ServerFilter;
}

/** What the filter with this name decides, and why. */
export interface NamedExplanation extends FilterExplanation {
  readonly name: string;
}

/** Explains what filters decide, one after the other, to the first that does not pass the request on. */
export function explainFilters(
  filters: readonly NamedFilter[],
  request: AuthorizationRequest,
): readonly NamedExplanation[] {
  const explained: NamedExplanation[] = [];
  for (const { name, filter } of filters) {
    const own = explainFilter(name, filter, request);
    explained.push({ name, ...own });
    if (own.refusal !== undefined) break;
  }
  return explained;
}

function explainFilter(
  name: string,
  filter: ServerFilter,
  request: AuthorizationRequest,
): FilterExplanation {
  const withoutRules = { action: undefined, rules: [] };
  try {
    if (filter.explain !== undefined) return filter.explain(request);
    const refusal = filter.onRequest(request);
    return { refusal: refusal instanceof Promise ? undefined : refusal, ...withoutRules };
  } catch (error) {
    return { refusal: refusalOf(name, error), ...withoutRules };
  }
}

/** A filter that cannot be created refuses all requests: they would not be protected by it. */
function createFilter(
  configured: ConfiguredFilter,
  creator: ServerFilterCreator,
): ServerFilter | undefined {
  const { name, config, override } = configured;
  const misfit = findMisfit(configured, creator);
  if (misfit !== undefined) return refuseAll(notJudged(name, Status.UNAVAILABLE, misfit));
  try {
    return creator.createServerFilter(config, override, name);
  } catch (error) {
    return refuseAll(refusalOf(name, error));
  }
}

function refuseAll(refusal: Refusal): ServerFilter {
  return { onRequest: () => refusal };
}

/** Returns the refusal for an exception of a filter: the status of a `CallFailedError`, and INTERNAL without the cause for others. */
function refusalOf(name: string, error: unknown): Refusal {
  const where = `HTTP filter ${quoteName(name)}`;
  if (isFailure(error)) {
    const status = toStatusObject(toCallFailedError(error, where).failure);
    const reason = `${where}: ${status.details}`;
    return { ...status, reason, decidedBy: { filter: name, action: undefined } };
  }
  return notJudged(name, Status.INTERNAL, `${where} failed: ${errorMessage(error)}`);
}

function notJudged(filter: string, code: Status, reason: string): Refusal {
  const details = CallerDetails.NOT_JUDGED;
  return { code, details, reason, decidedBy: { filter, action: undefined } };
}
