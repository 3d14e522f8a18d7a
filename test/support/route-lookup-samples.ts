import type { Random } from '../../src/util/random';

const SERVICES = ['a.S', 'b.S', 'c.S'];
const METHODS = ['', '', 'M', 'N'];
const KEYS = ['k1', 'k2', 'k3', 'k4', 'k5', 'k6'];
const HEADERS = ['h1', 'h2', 'H3'];
const VALUES = ['', 'a', 'b', 'gold', '7', 'x y'];

/** A call, as both sides of a comparison read it. */
export interface LookupRequestSample {
  readonly method: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
}

/** Makes configs of rls, of which some are not valid, and calls. */
export class RouteLookupSamples {
  constructor(private readonly random: Random) {}

  request(): LookupRequestSample {
    const headers = Object.fromEntries(
      HEADERS.filter(() => this.isIn(0.6)).map((name) => [
        name.toLowerCase(),
        this.list(this.isIn(0.2) ? 2 : 1, () => this.one(VALUES)),
      ]),
    );
    return { method: `/${this.one(SERVICES)}/${this.one(['M', 'N', 'O'])}`, headers };
  }

  /** @returns a config, and whether only this package refuses it: keys of two parts of the call are equal. */
  config(lookupService: string): { readonly config: object; readonly isRejectedHere: boolean } {
    const names = new Set<string>();
    const hasEqualKeys = this.isIn(0.1);
    const builders = this.list(1 + this.below(3), () => this.builder(names, hasEqualKeys));
    const lookup: Record<string, unknown> = {
      grpcKeybuilders: this.isIn(0.02) ? [] : builders,
      lookupService: this.isIn(0.02) ? '' : lookupService,
      cacheSizeBytes: this.isIn(0.02) ? '0' : this.one(['1000', '5000000', '99999999']),
      ...(this.isIn(0.5) && { lookupServiceTimeout: this.one(['0s', '5s']) }),
      ...(this.isIn(0.7) && { maxAge: this.one(['60s', '400s']) }),
      ...(this.isIn(0.3) && { staleAge: this.one(['50s', '300s', '500s']) }),
      ...(this.isIn(0.4) && { defaultTarget: this.one(['default', 'down-default', '']) }),
    };
    const config = {
      routeLookupConfig: lookup,
      childPolicy: [{ unknown: {} }, { named_target: {} }],
      childPolicyConfigTargetFieldName: this.isIn(0.02) ? '' : 'Target',
    };
    return { config, isRejectedHere: hasEqualKeys };
  }

  private builder(names: Set<string>, hasEqualKeys: boolean): object {
    const keys = [...KEYS];
    // Usually each key once.
    const key = () =>
      this.isIn(0.03) ? this.one(KEYS) : keys.splice(this.below(keys.length), 1)[0];
    const headers = this.list(this.below(3), () => ({
      key: key(),
      names: this.list(1 + this.below(2), () => this.one(HEADERS)),
      ...(this.isIn(0.02) && { requiredMatch: true }),
    }));
    const equal = key();
    // No two parts of the call have the same by chance, which only this package refuses.
    const other = () => keys.splice(this.below(keys.length), 1)[0];
    return {
      names: this.list(this.isIn(0.02) ? 0 : 1 + this.below(2), () => this.name(names)),
      headers,
      ...(this.isIn(0.5) && {
        extraKeys: hasEqualKeys
          ? { host: equal, method: equal }
          : {
              ...(this.isIn(0.5) && { host: other() }),
              ...(this.isIn(0.5) && { service: other() }),
            },
      }),
      ...(this.isIn(0.3) &&
        keys.length > 0 && { constantKeys: { [key() ?? 'k']: this.one(VALUES) } }),
    };
  }

  /** Usually one that no other builder has. */
  private name(names: Set<string>): object {
    for (let attempt = 0; ; attempt++) {
      const service = this.isIn(0.01) ? '' : this.one(SERVICES);
      const method = this.isIn(0.01) ? 'M/N' : this.one(METHODS);
      const path = `${service}/${method}`;
      if (names.has(path) && attempt < 10 && !this.isIn(0.03)) continue;
      names.add(path);
      return { service, method };
    }
  }

  private list<T>(length: number, create: () => T): T[] {
    return Array.from({ length }, create);
  }

  private one<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  private isIn(share: number): boolean {
    return this.random() < share;
  }
}
