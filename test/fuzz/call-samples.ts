import type { Random } from '../../src/util/random';
import type { Json } from '../support/xds-json';
import type { JsonMutations } from './json-mutations';

const COOKIE = 'sid';
const TYPE = 'type.googleapis.com/envoy.extensions';
const names = ['user', 'X-Id', 'cookie', 'a-bin', 'content-type', 'absent', 'constructor', 'te'];
/** Expressions that mean the same to RE2 and to JavaScript, and what is put in place of their matches. */
const rewrites: readonly (readonly [regex: string, substitution: string])[] = [
  ['[0-9]+', '#'],
  ['^(.)(.*)$', '\\2\\1'],
  ['a|bb', '<\\0>'],
  ['([a-m])([n-z])', '\\2$&\\1'],
  ['(x+)y', '$1'],
  [' ', ''],
];
const methods = ['/shop.Cart/Add', '/shop.Cart', '/shop', '/other.X/Y'];
const paths = ['', '/', '/shop.Cart', '/shop.Cart/', '/shop'];
const LONG = 20_000;

/** Makes up routes with hash policies and a session, and calls for them. */
export class CallSamples {
  constructor(
    private readonly random: Random,
    private readonly json: JsonMutations,
  ) {}

  /** The route configuration and the listener as JSON, and a call in each line that follows; see {@link parseCall}. */
  make(): string {
    const routes = this.routes();
    const text =
      this.below(4) === 0
        ? this.json.text(routes, 50).replaceAll('\n', ' ')
        : JSON.stringify(routes);
    const calls = Array.from({ length: 1 + this.below(4) }, () => this.call());
    return [text, JSON.stringify(this.listener()), ...calls].join('\n');
  }

  private routes(): Json {
    const many = this.below(20) === 0 ? 40 : 5;
    const hash_policy = Array.from({ length: this.below(many) }, () => this.policy());
    const clusters = ['a', 'b'].map((name) => ({ name, weight: 1 }));
    const action = { weighted_clusters: { clusters }, hash_policy };
    const route = { match: { prefix: '' }, route: action };
    return { name: 'r', virtual_hosts: [{ domains: ['*'], routes: [route] }] };
  }

  private policy(): Json {
    const terminal = this.below(4) === 0;
    const kind = this.below(8);
    if (kind === 0) return { filter_state: { key: 'io.grpc.channel_id' }, terminal };
    if (kind === 1) return { filter_state: { key: 'other' }, terminal };
    if (kind === 2) return { cookie: { name: 'c' }, terminal };
    const [regex, substitution] = this.pick(rewrites) ?? ['a', ''];
    const rewrite = { regex_rewrite: { pattern: { regex }, substitution } };
    const header = { header_name: this.pick(names), ...(this.below(2) === 0 ? rewrite : {}) };
    return { header, terminal };
  }

  private listener(): Json {
    const cookie = {
      name: COOKIE,
      path: this.pick(paths),
      ttl: this.below(2) === 0 ? '1.5s' : '0s',
    };
    const session = {
      '@type': `${TYPE}.filters.http.stateful_session.v3.StatefulSession`,
      session_state: {
        name: 'x',
        typed_config: {
          '@type': `${TYPE}.http.stateful_session.cookie.v3.CookieBasedSessionState`,
          cookie,
        },
      },
    };
    const router = { '@type': `${TYPE}.filters.http.router.v3.Router` };
    return {
      name: 'l',
      api_listener: {
        api_listener: {
          '@type': `${TYPE}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
          rds: { route_config_name: 'r', config_source: { ads: {} } },
          http_filters: [
            ...(this.below(4) === 0 ? [] : [{ name: 'session', typed_config: session }]),
            { name: 'router', typed_config: router },
          ],
        },
      },
    };
  }

  private call(): string {
    const headers = Array.from({ length: this.below(6) }, () => {
      const name = this.below(3) === 0 ? 'cookie' : (this.pick(names) ?? 'user');
      const value = name === 'cookie' ? this.cookies() : this.value();
      return [name.toLowerCase(), encodeURIComponent(value)];
    });
    return [this.pick(methods) ?? '/', ...headers.flat()].join(' ');
  }

  private value(): string {
    const kind = this.below(10);
    const length = kind === 0 ? this.below(LONG) : this.below(12);
    const [first, count] = kind < 2 ? [0, 256] : [32, 95];
    return Array.from({ length }, () => String.fromCharCode(first + this.below(count))).join('');
  }

  private cookies(): string {
    return Array.from({ length: this.below(4) }, () => {
      const kind = this.below(8);
      if (kind === 0) return this.value();
      const name = this.pick([COOKIE, COOKIE, COOKIE, 'other', ' sid ', '__proto__']) ?? COOKIE;
      return `${name}=${kind < 3 ? this.value() : this.session()}`;
    }).join(this.below(2) === 0 ? '; ' : ';');
  }

  /** In base64: a session, perhaps changed, or a message of Protocol Buffers, as Envoy has it. */
  private session(): string {
    const address = () => `10.0.0.${this.below(300)}:${this.below(70_000)}`;
    const addresses = Array.from({ length: 1 + this.below(3) }, address).join();
    const cluster = this.pick(['cluster:a', 'cluster:b', 'cluster:c', '', '__proto__']) ?? '';
    const text = `${addresses};${cluster}`;
    const kind = this.below(10);
    if (kind === 0)
      return Buffer.from(`\n\u0010${address()}\u0010\u0001`, 'latin1').toString('base64');
    if (kind === 1) return Buffer.from(text + this.value()).toString('base64');
    if (kind === 2) return Buffer.from(text).toString('base64').slice(this.below(5));
    if (kind === 3) return Buffer.from('10.0.0.1:80,'.repeat(this.below(2000))).toString('base64');
    return Buffer.from(text).toString('base64');
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  private pick<T>(list: readonly T[]): T | undefined {
    return list[this.below(list.length)];
  }
}

/** A call: `method name value name value`, the values as they are in a URI. */
export interface SampleCall {
  readonly method: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Reads a call. */
export function parseCall(line: string): SampleCall {
  const [method = '', ...rest] = line.split(' ');
  const headers: (readonly [string, string])[] = [];
  for (let index = 0; index + 1 < rest.length; index += 2) {
    headers.push([rest[index] ?? '', decodeURIComponent(rest[index + 1] ?? '')]);
  }
  return { method, headers };
}
