import type { Rejection, TypeState } from './client-state';

/** What a request said about an earlier response. */
export type Verdict =
  | { readonly kind: 'acked'; readonly version: string }
  | { readonly kind: 'nacked'; readonly version: string; readonly message: string };

/** The responses of one type on one stream, and what the client said to them. */
export class ResponseLedger {
  /** Version of each response that still waits for the client's verdict, by nonce, oldest first. */
  private readonly unanswered = new Map<string, string>();
  private last: { readonly nonce: string; readonly version: string } | undefined;
  private ackedVersion: string | undefined;
  private rejection: Rejection | undefined;

  /** Nonce of the last response; undefined before the first. */
  get lastNonce(): string | undefined {
    return this.last?.nonce;
  }

  /** Version of the last response; undefined before the first. */
  get sentVersion(): string | undefined {
    return this.last?.version;
  }

  /** Records that a response was sent. */
  markSent(nonce: string, version: string): void {
    this.last = { nonce, version };
    this.unanswered.set(nonce, version);
  }

  /**
   * Records what a request says about the response it answers, the first time it says it.
   * @param accepted The last version the client has accepted: one that is not that of the response acknowledges
   * nothing, it only changes names. Undefined if the nonce alone acknowledges, as on incremental streams.
   */
  judge(nonce: string, errorMessage: string | undefined, accepted?: string): Verdict | undefined {
    const version = this.unanswered.get(nonce);
    if (version === undefined) return undefined;
    if (errorMessage === undefined && accepted !== undefined && accepted !== version) {
      return undefined;
    }
    for (const older of this.unanswered.keys()) {
      this.unanswered.delete(older);
      if (older === nonce) break;
    }
    if (errorMessage !== undefined) {
      this.rejection = { version, message: errorMessage };
      return { kind: 'nacked', version, message: errorMessage };
    }
    this.ackedVersion = version;
    this.rejection = undefined;
    return { kind: 'acked', version };
  }

  /** A copy of this state for people to look at. */
  describe(): Pick<TypeState, 'sentVersion' | 'ackedVersion' | 'rejection'> {
    const { sentVersion, ackedVersion, rejection } = this;
    return { sentVersion, ackedVersion, rejection };
  }
}
