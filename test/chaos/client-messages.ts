export interface OpenOrder {
  readonly kind: 'open';
  readonly client: number;
  readonly bootstrap: object;
  readonly target: string;
  readonly callsPerSecond: number;
}

/** What the process with the clients is told. Clients are known by a number. */
export type ClientOrder =
  | OpenOrder
  | { readonly kind: 'close'; readonly client: number }
  | { readonly kind: 'cpu' }
  /** The wall clock jumps. */
  | { readonly kind: 'jump'; readonly byMs: number };

/** What it says. */
export type ClientNews =
  /** Another backend answers than before. */
  | { readonly kind: 'answer'; readonly client: number; readonly by: string }
  | {
      readonly kind: 'closed';
      readonly client: number;
      readonly calls: number;
      /** The messages of failed calls. */
      readonly failures: readonly string[];
    }
  /** Milliseconds of CPU used so far. */
  | { readonly kind: 'cpu'; readonly usedMs: number };
