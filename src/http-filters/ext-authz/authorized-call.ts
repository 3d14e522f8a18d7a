import { CallerDetails, DENIED, type Refusal } from '../../authorization/refusal';
import { Metadata, Status } from '../../grpc-js';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { statusName } from '../../util/status-code';
import { quoteName, quoteText, sanitizeText } from '../../util/text';
import { toStatusObject } from '../call-filter';
import { drawShare, type CallRouting } from '../client-filter';
import type { SideCallResult, SideChannels } from '../grpc-service/side-channels';
import { applyMutations } from '../header-mutation/apply-mutations';
import type { Judgement } from '../server-filter';
import {
  decodeCheckResponse,
  encodeCheckRequest,
  type Decision,
  type Peers,
} from './check-messages';
import type { ExtAuthzSettings } from './ext-authz-parser';

const CHECK = '/envoy.service.auth.v3.Authorization/Check';
/** How grpc-js begins the status of an answer beyond the limit. */
const TOO_LARGE = 'Received message larger than max';
const FAILURE_MODE_HEADER = 'x-envoy-auth-failure-mode-allowed';
/** How much earlier a timer may end. */
const TIMER_ERROR_MS = 2;
/** Characters of the text of an authorization server that a status shows. */
const MAX_MESSAGE_LENGTH = 1024;

/** What all calls have in common. */
export interface CheckEnvironment {
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  readonly random: Random;
  readonly channels: SideChannels;
}

/** What becomes of a call, for metrics. */
export type Outcome = 'allowed' | 'denied' | 'failed' | 'filter_disabled';

/** A call of a client or of a server, and how it is changed and counted. */
export interface CheckedCall {
  readonly method: string;
  readonly peers?: Peers;
  readonly routing?: Pick<CallRouting, 'match'> | undefined;
  /** Starts the check in the trace of the call. @param start Is passed the deadline of the call, as `CallRouting.startChild`. */
  startChild(start: (deadlineMs: number) => void): void;
  /** Lets a function change the headers of the response. */
  onResponseHeaders(change: (headers: Metadata) => void): void;
  count(outcome: Outcome): void;
}

/** Constructor options of a call. */
interface Context {
  readonly call: CheckedCall;
  /** The name of the filter. */
  readonly instance: string;
  readonly settings: ExtAuthzSettings;
  readonly environment: CheckEnvironment;
}

/** The authorization of one call: it waits for the answer of the server, until the timeout of the server or its own deadline. */
export class AuthorizedCall {
  /** The check in progress. */
  private check: Handle | undefined;
  /** Whether the check has less time than the timeout of the server, because the call has. */
  private isCallersDeadline = false;

  constructor(private readonly context: Context) {}

  /**
   * Judges the call, and changes its headers. Throws or rejects with a `CallFailedError` if a change that the rules refuse is an error.
   *
   * @returns a refusal whose details are for remote callers, and whose reason is for the process. The promise stays pending if the call
   * ends.
   */
  judge(headers: Metadata): Judgement {
    const { call, settings, environment } = this.context;
    const { perMillion, denyAtDisable } = settings;
    if (!drawShare(perMillion, environment.random)) {
      call.count('filter_disabled');
      return denyAtDisable
        ? this.refusal(settings.codeOnError, DENIED, 'denied by deny_at_disable')
        : undefined;
    }
    // An authorization server that asks itself would never answer, nor would a channel to it connect.
    if (call.method === CHECK) {
      // On a server, the caller chooses the path.
      const isOfCaller = call.peers !== undefined;
      return this.onFailure(headers, 'a check cannot wait for another check', isOfCaller);
    }
    const request = encodeCheckRequest(headers, call, settings, environment.clock.now());
    return this.ask(request).then((result) => this.onAnswer(headers, result));
  }

  /** The call has ended, maybe during the check: cancelled, or past its deadline. */
  end(): void {
    if (this.check !== undefined) this.context.call.count('failed');
    this.check?.release();
    this.check = undefined;
  }

  private ask(request: Buffer): Promise<SideCallResult> {
    const { call, settings, environment } = this.context;
    const { channels, clock } = environment;
    return new Promise((resolve) => {
      const start = (deadlineMs: number) => {
        this.isCallersDeadline =
          deadlineMs - clock.now() < (settings.service.timeoutMs ?? Infinity);
        // On the monotonic clock: a step of the other one is no deadline.
        const endMs = clock.monotonicMs() + deadlineMs - clock.now() - TIMER_ERROR_MS;
        this.check = channels.call(settings.service, CHECK, request, deadlineMs, (result) => {
          if (!result.ok && clock.monotonicMs() >= endMs) return;
          this.check = undefined;
          resolve(result);
        });
      };
      call.startChild(start);
    });
  }

  private onAnswer(headers: Metadata, result: SideCallResult): Refusal | undefined {
    if (!result.ok) {
      const { code, details } = result.error;
      const hasGivenUp = code === Status.DEADLINE_EXCEEDED || code === Status.CANCELLED;
      // A denial may repeat what the caller has sent.
      const isTooLarge = code === Status.RESOURCE_EXHAUSTED && details.startsWith(TOO_LARGE);
      const isOfCaller = isTooLarge || (hasGivenUp && this.isCallersDeadline);
      return this.onFailure(headers, `${statusName(code)}: ${details}`, isOfCaller);
    }
    const decision = decodeCheckResponse(result.value);
    if (!decision.ok) return this.onFailure(headers, `unusable answer: ${decision.error}`, false);
    return this.apply(headers, decision.value);
  }

  /** Allows or denies a call as the server decided. A change of headers that the rules refuse can fail it. */
  private apply(headers: Metadata, decision: Decision): Refusal | undefined {
    const { call, settings } = this.context;
    const { rules } = settings;
    const trailers = new Metadata();
    try {
      if (decision.kind === 'denied') applyMutations(trailers, decision.trailers, call, rules);
      else {
        applyMutations(headers, decision.request, call, rules);
        // Those of the response are refused before the call, too: not after it has had its effect.
        applyMutations(new Metadata(), decision.response, call, rules);
      }
    } catch (error) {
      call.count('failed');
      throw error;
    }
    call.count(decision.kind);
    if (decision.kind === 'denied') {
      const text = decision.message === '' ? '' : `: ${showMessage(decision.message)}`;
      const reason = `denied by ${this.server}${text}`;
      return this.refusal(decision.code, `${DENIED}${text}`, reason, trailers);
    }
    if (decision.response.length > 0) {
      call.onResponseHeaders((received) =>
        applyMutations(received, decision.response, call, rules),
      );
    }
    return undefined;
  }

  /**
   * Handles a check that has failed: the call goes on if the filter allows that.
   * @param isOfCaller Whether the caller can make the check fail. It must not open the filter by that.
   */
  private onFailure(headers: Metadata, cause: string, isOfCaller: boolean): Refusal | undefined {
    const { call, settings } = this.context;
    const { failureModeAllow, failureModeAllowHeaderAdd, codeOnError } = settings;
    call.count('failed');
    if (!failureModeAllow || isOfCaller) {
      const advice = 'check that it runs, and the filter in the listener';
      const reason = `${this.server} failed: ${showMessage(cause)}: ${advice}`;
      return this.refusal(codeOnError, CallerDetails.NOT_JUDGED, reason);
    }
    if (failureModeAllowHeaderAdd) headers.set(FAILURE_MODE_HEADER, 'true');
    return undefined;
  }

  private get server(): string {
    return `authorization server ${quoteText(this.context.settings.service.target)}`;
  }

  private refusal(
    code: number,
    details: string,
    reason: string,
    metadata = new Metadata(),
  ): Refusal {
    const { instance } = this.context;
    return {
      ...toStatusObject({ code, details, metadata }),
      reason: `HTTP filter ${quoteName(instance)}: ${reason}`,
      decidedBy: { filter: instance, action: undefined },
    };
  }
}

function showMessage(text: string): string {
  return sanitizeText(text, MAX_MESSAGE_LENGTH);
}
