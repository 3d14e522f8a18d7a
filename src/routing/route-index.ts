import type { Route } from '../resources/route-config/route-config';
import { lazy } from '../util/lazy';
import type { MatchedCall } from './matched-call';
import type * as Paths from './path-index';
import type { PathIndex } from './path-index';
import { STEPS_PER_MATCHER } from '../resources/matching/string-matcher';
import { matchesRoute, satisfiesPath } from './route-matcher';

/** Loaded when an index is made, not by a call. */
const loadPaths = lazy<typeof Paths>(() => require('./path-index'));

/** The number of routes up to which trying every route is faster than an index of their paths. */
const MAX_UNINDEXED_ROUTES = 4;

/** Finds the first route of a virtual host that matches a call (gRFC A28), whatever is done with the call then. */
export class RouteIndex {
  /** The most steps that a call takes. Known only of a few routes that match by their paths alone, without expressions. */
  readonly maxSteps: number = Infinity;
  /** `undefined` for a few routes. */
  private readonly paths: PathIndex | undefined = undefined;
  /** Whether the route at a position is that of a call. One function, so that calls allocate none. */
  private readonly accepts = (
    position: number,
    call: MatchedCall<unknown>,
    lists: number,
  ): boolean => {
    const match = this.routes[position]?.match;
    if (match === undefined) return false;
    return !call.spendOnPath(lists) || matchesRoute(match, call);
  };

  /** @param routes In the order in which calls are matched against them. */
  constructor(readonly routes: readonly Route[]) {
    if (routes.length <= MAX_UNINDEXED_ROUTES) {
      if (routes.every(isPlain)) this.maxSteps = routes.length * STEPS_PER_MATCHER;
      return;
    }
    const paths = new (loadPaths().PathIndex)();
    for (const [position, { match }] of routes.entries()) paths.add(match.path, position);
    this.paths = paths;
  }

  /**
   * Finds the first route that matches; of a call without steps left, the one that was tried then.
   *
   * @param isMetered Whether steps are counted, as they must be unless a call may always take `maxSteps`.
   */
  find(call: MatchedCall<unknown>, isMetered = true): Route | undefined {
    const { routes, paths } = this;
    if (!isMetered) {
      for (const route of routes) if (satisfiesPath(route.match.path, call)) return route;
      return undefined;
    }
    if (paths === undefined) {
      for (const route of routes) if (matchesRoute(route.match, call)) return route;
      return undefined;
    }
    const position = paths.findFirst(call.path, this.accepts, call);
    return position === undefined ? undefined : routes[position];
  }
}

function isPlain({ match: { path, headers, fractionPerMillion } }: Route): boolean {
  return path.kind !== 'regex' && headers.length === 0 && fractionPerMillion === undefined;
}
