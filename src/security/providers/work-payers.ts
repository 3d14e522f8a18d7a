/** Takes milliseconds of work from the time of the source that caused it. */
export type PayForWork = (durationMs: number) => void;

const payers = new WeakMap<object, PayForWork>();

/** Records what pays for the work that certificates cause after they were received, such as TLS contexts that are made of them. */
export function setPayer(certificates: object, pay: PayForWork): void {
  payers.set(certificates, pay);
}

/** @returns `undefined` for certificates whose source has no bounded time. */
export function payerOf(certificates: object): PayForWork | undefined {
  return payers.get(certificates);
}
