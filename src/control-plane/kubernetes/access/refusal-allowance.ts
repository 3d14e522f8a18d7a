import { MAX_ADDRESSES, MAX_REFUSED_OF_ADDRESS, REFUSED_OF_ADDRESS_MS } from './access-limits';

/**
 * How many tokens of an address may yet be refused by reviews: some at once, and then one a second. It is a bucket of which the time
 * is kept at which it will be full again.
 */
export class RefusalAllowance {
  private readonly fullAtMs = new Map<string, number>();

  /** Whether a token of the address may be reviewed. */
  allows(address: string, nowMs: number): boolean {
    const missingMs = (this.fullAtMs.get(address) ?? nowMs) - nowMs;
    return missingMs <= (MAX_REFUSED_OF_ADDRESS - 1) * REFUSED_OF_ADDRESS_MS;
  }

  /** Handles that a token of the address was refused. */
  onRefused(address: string, nowMs: number): void {
    const before = Math.max(this.fullAtMs.get(address) ?? nowMs, nowMs);
    this.fullAtMs.delete(address);
    this.fullAtMs.set(address, before + REFUSED_OF_ADDRESS_MS);
    if (this.fullAtMs.size <= MAX_ADDRESSES) return;
    const [first] = this.fullAtMs.keys();
    if (first !== undefined) this.fullAtMs.delete(first);
  }
}
