import { CallerDetails, type FilterExplanation, type Refusal } from '../../authorization/refusal';
import type { Judgement, ServerFilter, ServerRequest } from '../server-filter';
import { Status } from '../../grpc-js';
import type { MatchMeter } from '../../resources/matching/match-meter';
import { CallHeaders } from '../../routing/matched-call';
import { findAction, type MatchedHeaders, type Matcher } from '../../routing/matcher';
import type { Random } from '../../util/random';
import { quoteName } from '../../util/text';
import { drawShare } from '../client-filter';
import { type AuthorizationRequest, serverHeaders } from '../../authorization/request';
import type { HttpFilterRegistry } from '../registry';
import { ServerFilterChain } from '../server-filter-chain';
import { describeNoMatch, type CompositeAction, type ExecuteAction } from './composite-parser';

/** Constructor options of a filter. */
interface CompositeServerFilterOptions {
  readonly matcher: Matcher<CompositeAction>;
  /** The name of the filter in its chain. */
  readonly instance: string;
  /** Creates the filters inside. */
  readonly filters: HttpFilterRegistry;
  readonly random: Random;
  readonly meter: MatchMeter;
}

/** The composite filter of servers, which runs filters chosen for each request by its headers (gRFC A103). */
export class CompositeServerFilter implements ServerFilter {
  private readonly headers = new CallHeaders(serverHeaders);
  private readonly metered: MatchedHeaders;
  /** Of the actions that a request has had. */
  private readonly chains = new Map<ExecuteAction, ServerFilterChain>();

  constructor(private readonly options: CompositeServerFilterOptions) {
    this.metered = {
      get: (name) => this.headers.get(name),
      spend: (...args) => options.meter.spendText(...args),
    };
  }

  onRequest(request: ServerRequest): Judgement {
    const chosen = this.chainFor(request);
    return chosen instanceof ServerFilterChain ? chosen.onRequest(request) : chosen;
  }

  explain(request: AuthorizationRequest): FilterExplanation {
    const chosen = this.chainFor(request);
    const inside =
      chosen instanceof ServerFilterChain ? chosen.explainEach(request).at(-1) : undefined;
    const refusal = chosen instanceof ServerFilterChain ? inside?.refusal : chosen;
    return { refusal, action: inside?.action, rules: inside?.rules ?? [] };
  }

  /** Returns the filters for a request, `undefined` if there are none; the refusal of a request for which they are not known. */
  private chainFor(request: AuthorizationRequest): ServerFilterChain | Refusal | undefined {
    const { instance, meter, random } = this.options;
    const action = this.choose(request);
    const { exceeded } = meter;
    if (exceeded !== undefined) {
      return unavailable(`HTTP filter ${quoteName(instance)}: ${meter.describe(exceeded)}`);
    }
    if (action === undefined) return unavailable(describeNoMatch(instance));
    if (action.kind === 'skip' || !drawShare(action.perMillion, random)) return undefined;
    return this.chainOf(action);
  }

  private choose(request: AuthorizationRequest): CompositeAction | undefined {
    const { matcher, meter } = this.options;
    meter.begin();
    this.headers.reset(request);
    try {
      return findAction(matcher, this.metered);
    } finally {
      this.headers.reset(undefined);
      meter.end();
    }
  }

  private chainOf(action: ExecuteAction): ServerFilterChain {
    const known = this.chains.get(action);
    if (known !== undefined) return known;
    const configured = action.filters.map(({ name, config }) => ({
      name: name || config.configType,
      config,
      override: undefined,
    }));
    const chain = ServerFilterChain.create(configured, this.options.filters);
    this.chains.set(action, chain);
    return chain;
  }
}

function unavailable(reason: string): Refusal {
  const details = CallerDetails.NOT_JUDGED;
  return { code: Status.UNAVAILABLE, details, reason };
}
