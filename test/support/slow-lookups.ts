import { promises as dns } from 'node:dns';

/** The host name that is not answered. */
export const SLOW_HOST = 'slow.test';

/** The operating system's resolver, which does not answer for one host name until the test says so. */
export class SlowLookups {
  private readonly real = dns.lookup;
  private readonly answers = new Set<() => void>();

  constructor() {
    Reflect.set(dns, 'lookup', (host: string, options: object): Promise<unknown> => {
      if (host !== SLOW_HOST) return Reflect.apply(this.real, dns, [host, options]);
      return new Promise((resolve) => {
        this.answers.add(() => resolve([{ address: '127.0.0.1', family: 4 }]));
      });
    });
  }

  /** The number of lookups without an answer. */
  get pending(): number {
    return this.answers.size;
  }

  /** Answers all lookups so far with the loopback address. */
  answer(): void {
    for (const answer of this.answers) answer();
    this.answers.clear();
  }

  /** Answers everything, and restores the resolver. */
  release(): void {
    this.answer();
    dns.lookup = this.real;
  }
}
