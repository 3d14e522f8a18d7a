/** What a process of clients is sent. */
export type ClientOrder =
  | {
      readonly kind: 'open';
      readonly target: string;
      readonly bootstrap: object;
      readonly callsPerSecond: number;
      /** The method. Default: that of the echo service. */
      readonly path?: string;
    }
  | { readonly kind: 'report' }
  | { readonly kind: 'stop' };

/** An endpoint came into use, or no longer is. */
export interface Observation {
  /** `address:port`. */
  readonly endpoint: string;
  readonly isUsed: boolean;
  /** Of the monotonic clock of the machine, which all processes share. */
  readonly atMs: number;
}

/** What a process of clients has seen since it started. */
export interface ClientReport {
  readonly calls: number;
  readonly pending: number;
  readonly failed: number;
  /** How often each error occurred; some of them. */
  readonly failures: Readonly<Record<string, number>>;
  /** How many calls each backend answered since the last report. */
  readonly answers: Readonly<Record<string, number>>;
  /** The longest call since the last report. */
  readonly slowestMs: number;
  readonly observations: readonly Observation[];
  /** What the client has in use now, or why it has nothing. */
  readonly endpoints: readonly string[];
  readonly state: string;
}
