import type { Random } from '../../src/util/random';
import type { RuleJson } from './reference-authorization';

const PATHS = ['/a.S/Get', '/a.S/*', '/b.T/*', '*/Get', '*', '/A.S/GET', '/a.S/'];
const PRINCIPALS = [
  'spiffe://td/ns/a/sa/web',
  'spiffe://td/*',
  '*.example.com',
  'CN=web,O=Acme',
  '*',
  '',
  '*/sa/web',
  '*td*',
];
const KEYS = ['x-a', 'X-A', 'x-b', 'x-n'];
/** Headers that no policy may match. */
const FORBIDDEN_KEYS = ['host', 'Host', 'te', ':authority', ':path', 'grpc-timeout', 'upgrade'];
const VALUES = ['gold', 'g*', '*ld', '*', '7', 'Gold', '', 'a,b'];

/** Makes authorization policies (gRFC A43) of few values, for the requests of `AuthorizationSamples`. */
export class PolicySamples {
  constructor(private readonly random: Random) {}

  /** @param forbidden The share of header rules that no policy may have. */
  policy(forbidden = 0.01): RuleJson {
    const rules = () => this.some().map((_, i) => this.rule(`r${i}`, forbidden));
    const deny = this.random() < 0.6 ? { deny_rules: rules() } : {};
    return { name: 'policy', ...deny, allow_rules: rules() };
  }

  private rule(name: string, forbidden: number): RuleJson {
    const source = this.random() < 0.5 ? { source: this.source() } : {};
    const request = this.random() < 0.6 ? { request: this.request(forbidden) } : {};
    return { name, ...source, ...request };
  }

  private source(): RuleJson {
    return this.random() < 0.1 ? {} : { principals: this.some().map(() => this.pick(PRINCIPALS)) };
  }

  private request(forbidden: number): RuleJson {
    const paths = this.random() < 0.5 ? { paths: this.some().map(() => this.pick(PATHS)) } : {};
    const headers =
      this.random() < 0.4
        ? {
            headers: this.some().map(() => ({
              key: this.pick(this.random() < forbidden ? FORBIDDEN_KEYS : KEYS),
              values: this.some().map(() => this.pick(VALUES)),
            })),
          }
        : {};
    return { ...paths, ...headers };
  }

  /** One to three places. */
  private some(): readonly undefined[] {
    return Array.from({ length: 1 + Math.floor(this.random() * 3) }, () => undefined);
  }

  private pick<T>(values: readonly T[]): T {
    const value = values[Math.floor(this.random() * values.length)];
    if (value === undefined) throw new Error('nothing to pick from');
    return value;
  }
}
