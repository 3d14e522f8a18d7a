import { Metadata, type StatusObject } from '../../grpc-js';
import type { RegexCompilers } from '../../resources/extension-points';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { statusName } from '../../util/status-code';
import { quoteName, quoteText, sanitizeText } from '../../util/text';
import { CallFailedError, type CallFilter } from '../call-filter';
import {
  drawShare,
  type CallFilterFactory,
  type ClientFilter,
  type FilterCall,
} from '../client-filter';
import type { SideCallResult, SideChannels } from '../grpc-service/side-channels';
import { applyMutations } from '../header-mutation/apply-mutations';
import { asConfig } from '../http-filter';
import { decodeCheckResponse, encodeCheckRequest, type Decision } from './check-messages';
import {
  EXT_AUTHZ,
  EXT_AUTHZ_PER_ROUTE,
  ExtAuthzConfig,
  parseExtAuthzConfig,
  parseExtAuthzOverride,
  type ExtAuthzSettings,
} from './ext-authz-parser';

const CHECK = '/envoy.service.auth.v3.Authorization/Check';
const FAILURE_MODE_HEADER = 'x-envoy-auth-failure-mode-allowed';
/** How much earlier a timer may end. */
const TIMER_ERROR_MS = 2;
/** Characters of the text of an authorization server that a status shows. */
const MAX_MESSAGE_LENGTH = 1024;

interface ExtAuthzOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  readonly random: Random;
  readonly regexes: RegexCompilers;
  readonly channels: SideChannels;
}

/** Creates the filter that asks an authorization server whether a call is allowed (gRFC A92). */
export function createExtAuthzFilter(options: ExtAuthzOptions): ClientFilter {
  return {
    configTypes: [EXT_AUTHZ],
    overrideTypes: [EXT_AUTHZ_PER_ROUTE],
    isTerminal: false,
    parseConfig: (config, violations, { server }) =>
      parseExtAuthzConfig(config, options.regexes.forResource(), server, violations),
    parseOverride: parseExtAuthzOverride,
    prepare: (config) => createFactory(asConfig(ExtAuthzConfig, config).settings, options),
  };
}

function createFactory(settings: ExtAuthzSettings, options: ExtAuthzOptions): CallFilterFactory {
  const { service } = settings;
  return {
    create: (call, instance) => new AuthorizedCall({ call, instance, settings, options }),
    // Without its credentials and headers.
    describe: () => ({
      ...settings,
      service: { target: service.target, timeoutMs: service.timeoutMs },
    }),
    retain: () => options.channels.retain(service),
  };
}

interface Context {
  readonly call: FilterCall;
  /** The name of the filter. */
  readonly instance: string;
  readonly settings: ExtAuthzSettings;
  readonly options: ExtAuthzOptions;
}

type Outcome = 'allowed' | 'denied' | 'failed' | 'filter_disabled';

/** The authorization of one call: it waits for the answer of the server, until the timeout of the server or its own deadline. */
class AuthorizedCall implements CallFilter {
  onResponseHeaders?: (headers: Metadata) => Metadata;
  /** The check in progress. */
  private check: Handle | undefined;

  constructor(private readonly context: Context) {}

  onRequestHeaders(headers: Metadata): Metadata | Promise<Metadata> {
    const { call, settings, options } = this.context;
    const { perMillion, denyAtDisable } = settings;
    if (!drawShare(perMillion, options.random)) {
      this.count('filter_disabled');
      if (denyAtDisable) throw this.failure(settings.codeOnError, 'denied by deny_at_disable');
      return headers;
    }
    // A channel to the authorization server whose own calls need its authorization would never connect.
    if (call.method === CHECK) return this.goOn(headers, 'a check cannot wait for another check');
    const request = encodeCheckRequest(headers, call, settings, options.clock.now());
    return this.ask(request).then((result) => this.onAnswer(headers, result));
  }

  /** The call may end during the check: cancelled, or past its deadline. */
  onStatus(status: StatusObject): StatusObject {
    if (this.check !== undefined) this.count('failed');
    this.check?.release();
    this.check = undefined;
    return status;
  }

  /** The promise stays pending if the call ends first, or with the check. */
  private ask(request: Buffer): Promise<SideCallResult> {
    const { call, settings, options } = this.context;
    const { channels, clock } = options;
    return new Promise((resolve) => {
      const start = (deadlineMs: number) => {
        // On the monotonic clock: a step of the other one is no deadline.
        const endMs = clock.monotonicMs() + deadlineMs - clock.now() - TIMER_ERROR_MS;
        return channels.call(settings.service, CHECK, request, deadlineMs, (result) => {
          if (!result.ok && clock.monotonicMs() >= endMs) return;
          this.check = undefined;
          resolve(result);
        });
      };
      this.check = call.routing?.startChild(start) ?? start(Infinity);
    });
  }

  private onAnswer(headers: Metadata, result: SideCallResult): Metadata {
    if (!result.ok) {
      const { code, details } = result.error;
      return this.goOn(headers, `${statusName(code)}: ${details}`);
    }
    const decision = decodeCheckResponse(result.value);
    if (!decision.ok) return this.goOn(headers, `unusable answer: ${decision.error}`);
    return this.apply(headers, decision.value);
  }

  /** Allows or denies a call as the server decided. A change of headers that the rules refuse can fail it. */
  private apply(headers: Metadata, decision: Decision): Metadata {
    const { call, settings } = this.context;
    const { rules } = settings;
    const trailers = new Metadata();
    try {
      if (decision.kind === 'denied') applyMutations(trailers, decision.trailers, call, rules);
      else applyMutations(headers, decision.request, call, rules);
    } catch (error) {
      this.count('failed');
      throw error;
    }
    this.count(decision.kind);
    if (decision.kind === 'denied') {
      const reason = decision.message === '' ? '' : `: ${showMessage(decision.message)}`;
      throw this.failure(decision.code, `denied by ${this.server}${reason}`, trailers);
    }
    if (decision.response.length > 0) {
      this.onResponseHeaders = (received) => {
        applyMutations(received, decision.response, call, rules);
        return received;
      };
    }
    return headers;
  }

  /** Goes on with a call that the server was not asked for, or fails it. */
  private goOn(headers: Metadata, reason: string): Metadata {
    const { failureModeAllow, failureModeAllowHeaderAdd, codeOnError } = this.context.settings;
    this.count('failed');
    if (!failureModeAllow) {
      const advice = 'check that it runs, and the filter in the listener';
      throw this.failure(codeOnError, `${this.server} failed: ${showMessage(reason)}: ${advice}`);
    }
    if (failureModeAllowHeaderAdd) headers.set(FAILURE_MODE_HEADER, 'true');
    return headers;
  }

  private get server(): string {
    return `authorization server ${quoteText(this.context.settings.service.target)}`;
  }

  private failure(code: number, reason: string, metadata = new Metadata()): CallFailedError {
    const details = `HTTP filter ${quoteName(this.context.instance)}: ${reason}`;
    return new CallFailedError({ code, details, metadata });
  }

  private count(outcome: Outcome): void {
    this.context.call.routing?.count(`grpc.client_ext_authz.${outcome}_rpcs`);
  }
}

function showMessage(text: string): string {
  return sanitizeText(text, MAX_MESSAGE_LENGTH);
}
