import { Metadata, Status, type StatusObject } from '../../../src/grpc-js';
import type { CallAffinity, CallFilter } from '../../../src/http-filters/call-filter';
import { routerFilter } from '../../../src/http-filters/router/router-filter';
import {
  STATEFUL_SESSION,
  STATEFUL_SESSION_PER_ROUTE,
  StatefulSessionConfig,
} from '../../../src/http-filters/stateful-session/session-parser';
import { createStatefulSessionFilter } from '../../../src/http-filters/stateful-session/stateful-session-filter';
import { silentLogger } from '../../../src/util/logger';
import { callWith, headersOf, statusOf } from '../calls';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const cookie = { name: 'session', path: '/test.Echo', ttlMs: 60_000 };
const config = new StatefulSessionConfig(STATEFUL_SESSION, cookie);
const A = '10.0.0.1:80';
const B = '10.0.0.2:80';

/** A route with the clusters `x`, which is drawn, and `y`. */
class Affinity implements CallAffinity {
  cluster = 'cluster:x';
  wanted: readonly string[] | undefined;
  picked: readonly string[] | undefined;

  chooseCluster(name: string): boolean {
    if (name !== 'cluster:x' && name !== 'cluster:y') return false;
    this.cluster = name;
    return true;
  }

  prefer(addresses: readonly string[]): void {
    this.wanted = addresses;
  }
}

const traces: string[] = [];
const errors: string[] = [];
const logger = {
  ...silentLogger,
  trace: (_: string, text: () => string) => traces.push(text()),
  error: (text: () => string) => errors.push(text()),
};
const filter = createStatefulSessionFilter({ logger });

/** The filter at work on one call. */
class Call {
  readonly affinity = new Affinity();
  readonly filter: CallFilter | undefined;

  constructor(value?: string, method = '/test.Echo/Say') {
    const headers = value === undefined ? headersOf() : headersOf({ cookie: `session=${value}` });
    const call = { ...callWith(headers), method, affinity: this.affinity };
    this.filter = filter.prepare(config, undefined)?.create(call, 'f');
  }

  /** The cookies set by the headers of the response from the endpoint. */
  answer(...addresses: readonly string[]): readonly unknown[] {
    this.affinity.picked = addresses;
    return this.filter?.onResponseHeaders?.(new Metadata()).get('set-cookie') ?? [];
  }

  end(trailers: Record<string, string>): readonly unknown[] {
    const status: StatusObject = { ...statusOf(Status.ABORTED), metadata: headersOf(trailers) };
    return this.filter?.onStatus?.(status).metadata.get('set-cookie') ?? [];
  }
}

const setCookie = (text: string) =>
  `session=${base64(text)}; Path=/test.Echo; Max-Age=60; HttpOnly`;

beforeEach(() => traces.splice(0));

describe('a call without a session', () => {
  it('goes to any endpoint, and starts a session', () => {
    const call = new Call();
    expect(call.affinity.wanted).toEqual([]);
    expect(call.answer(A)).toEqual([setCookie(`${A};cluster:x`)]);
  });

  it('receives all addresses of the endpoint, the one in use first', () => {
    expect(new Call().answer(B, A)).toEqual([setCookie(`${B},${A};cluster:x`)]);
  });

  it('receives no cookie if no endpoint was picked', () => {
    const call = new Call();
    expect(call.filter?.onResponseHeaders?.(new Metadata()).getMap()).toEqual({});
  });
});

describe('a call of a session', () => {
  it('prefers its endpoint and its cluster', () => {
    const call = new Call(base64(`${A},${B};cluster:y`));
    expect(call.affinity.wanted).toEqual([A, B]);
    expect(call.affinity.cluster).toBe('cluster:y');
  });

  it('gets no new cookie as long as it goes to the same endpoint', () => {
    expect(new Call(base64(`${A};cluster:y`)).answer(A)).toEqual([]);
  });

  it('moves with its cookie when it goes to another endpoint', () => {
    expect(new Call(base64(`${A};cluster:x`)).answer(B)).toEqual([setCookie(`${B};cluster:x`)]);
  });

  it('moves when its cluster is no longer part of the route', () => {
    const call = new Call(base64(`${A};cluster:gone`));
    expect(call.affinity.wanted).toEqual([A]);
    expect(traces).toEqual(['/test.Echo/Say: the route no longer has cluster:gone']);
    expect(call.answer(A)).toEqual([setCookie(`${A};cluster:x`)]);
  });

  it('gets the cluster added to a cookie that has none', () => {
    expect(new Call(base64(A)).answer(A)).toEqual([setCookie(`${A};cluster:x`)]);
  });

  it.each([
    ['no-base64', 'its 9 characters are not base64'],
    [base64('secret'), 'its 8 characters are base64, but not of addresses'],
    ['s'.repeat(4097), 'its 4097 characters are more than 4096'],
  ])('has no session if its cookie is malformed, and traces why without it', (value, reason) => {
    const call = new Call(value);
    expect(traces).toEqual([`/test.Echo/Say: cookie session names no host: ${reason}`]);
    expect(call.affinity.wanted).toEqual([]);
    expect(call.answer(A)).toEqual([setCookie(`${A};cluster:x`)]);
  });

  it('logs the first unusable value of each cookie, without the value (gRFC A55)', () => {
    const fresh = createStatefulSessionFilter({ logger });
    const call = (name: string, value: string) => {
      const named = new StatefulSessionConfig(STATEFUL_SESSION, { name, path: '/', ttlMs: 0 });
      const headers = headersOf({ cookie: `${name}=${value}` });
      const affinity = new Affinity();
      fresh
        .prepare(named, undefined)
        ?.create({ ...callWith(headers), method: '/test.Echo/Say', affinity }, 'f');
    };
    errors.splice(0);
    for (const name of ['session', 'other', 'session']) {
      for (const value of ['nonsense', 'secret', base64(A)]) call(name, value);
    }
    const text = (name: string) =>
      `The cookie "${name}" of a call to /test.Echo/Say names no endpoint, so that any is used: ` +
      'send the value of the set-cookie header unchanged (GRPC_TRACE=xds_stateful_session shows each)';
    expect(errors).toEqual([text('session'), text('other')]);
    for (let i = 0; i < 1000; i++) call(`s${i}`, 'nonsense');
    expect(errors).toHaveLength(100);
  });
});

describe('the end of a call', () => {
  it('carries the cookie if the server sent only trailers', () => {
    const call = new Call();
    call.affinity.picked = [A];
    const cookies = call.end({ 'content-type': 'application/grpc' });
    expect(cookies).toEqual([setCookie(`${A};cluster:x`)]);
  });

  it('does not carry it a second time', () => {
    const call = new Call();
    call.answer(A);
    expect(call.end({ 'content-type': 'application/grpc' })).toEqual([]);
  });

  it('does not carry it if the status was made in this process', () => {
    const call = new Call();
    call.affinity.picked = [A];
    expect(call.end({})).toEqual([]);
  });
});

describe('the filter', () => {
  it('ignores calls outside of the path of the cookie', () => {
    const call = new Call(base64(A), '/test.Echoes/Say');
    expect(call.filter).toBeUndefined();
    expect(call.affinity.wanted).toBeUndefined();
  });

  it('ignores calls without affinity', () => {
    expect(filter.prepare(config, undefined)?.create(callWith(), 'f')).toBeUndefined();
  });

  it('has no factory without a cookie', () => {
    const off = new StatefulSessionConfig(STATEFUL_SESSION_PER_ROUTE, undefined);
    expect(filter.prepare(config, off)).toBeUndefined();
    expect(filter.prepare(off, undefined)).toBeUndefined();
  });

  it('applies the override of the route', () => {
    const other = { ...cookie, name: 'other' };
    const override = new StatefulSessionConfig(STATEFUL_SESSION_PER_ROUTE, other);
    expect(filter.prepare(config, override)?.describe()).toEqual({ cookie: other });
  });

  it('rejects a config of another filter', () => {
    const config = { configType: routerFilter.configTypes[0] ?? '' };
    expect(() => filter.prepare(config, undefined)).toThrow(
      'A config of type envoy.extensions.filters.http.router.v3.Router was not parsed by its filter',
    );
  });
});
