import { CallFailedError } from '../../src/http-filters/call-filter';
import {
  defineHttpFilter,
  type HttpFilterDefinition,
  type RequestFilter,
} from '../../src/http-filters/define-http-filter';
import { HttpFilterRegistry } from '../../src/http-filters/registry';
import { ServerFilterChain } from '../../src/http-filters/server-filter-chain';
import { Metadata, Status } from '../../src/grpc-js';
import { Violations } from '../../src/util/violations';
import { encodeMessage } from '../resources/decode-json';
import { requestOf } from '../authorization/rbac-world';
import { XdsError } from '../../src/util/xds-error';

const GUARD = 'acme.v1.Guard';

/** Something that is not for the compiler to look at. */
const anything = (value: unknown): never => value as never;

const struct = (value: object) => ({
  typeUrl: 'type.googleapis.com/xds.type.v3.TypedStruct',
  value: encodeMessage('xds.type.v3.TypedStruct', { type_url: `t/${GUARD}`, value }),
});

/** A registry with one filter, whose configs are texts. */
function registryOf(change: Partial<HttpFilterDefinition<string>>): HttpFilterRegistry {
  const text = (input: {
    readonly kind: string;
    readonly json?: Readonly<Record<string, unknown>>;
  }) => String(input.json?.['text']);
  const definition = { configTypes: [GUARD], parseConfig: text, parseOverride: text, ...change };
  return new HttpFilterRegistry([defineHttpFilter(definition)]);
}

/** Judges one request by the filter of a config and an override. */
function judge(change: Partial<HttpFilterDefinition<string>>, withOverride = false) {
  const registry = registryOf(change);
  const { forServers } = registry;
  const config = forServers.parseConfig(struct({ text: 'config' }), Violations.root());
  const override = forServers.parseOverride(struct({ text: 'override' }), Violations.root());
  if (config === undefined || override === undefined) throw new Error('rejected');
  const configured = { name: 'guard', config, override: withOverride ? override : undefined };
  const chain = ServerFilterChain.create([configured], registry);
  return chain.onRequest(requestOf({ path: '/a.S/Get', headers: { user: 'eve' } }));
}

const onRequest = (filter: RequestFilter['onRequest']) =>
  judge({ createServerFilter: () => ({ onRequest: filter }) });

const decidedBy = { filter: 'guard', action: undefined };
const bug = (error: string) => ({
  code: Status.INTERNAL,
  details: 'the request cannot be evaluated',
  reason: `HTTP filter "guard" failed: ${error}`,
  policy: undefined,
  decidedBy,
});

describe('a filter of an application for servers (gRFC A39)', () => {
  it('gets the parsed config and override, and each request', () => {
    const seen: unknown[] = [];
    const createServerFilter = (config: string, override: string | undefined) => ({
      onRequest: ({ path, header }: Parameters<RequestFilter['onRequest']>[0]) => {
        seen.push([config, override, path, header('user')]);
      },
    });
    expect(judge({ createServerFilter })).toBeUndefined();
    expect(judge({ createServerFilter }, true)).toBeUndefined();
    expect(seen).toEqual([
      ['config', undefined, '/a.S/Get', 'eve'],
      ['config', 'override', '/a.S/Get', 'eve'],
    ]);
  });

  it('may have nothing to do', () => {
    expect(judge({ createServerFilter: () => undefined })).toBeUndefined();
  });

  it('ends a request with the status of a CallFailedError', () => {
    const metadata = new Metadata();
    const failure = { code: Status.UNAUTHENTICATED, details: 'who are you?', metadata };
    expect(
      onRequest(() => {
        throw new CallFailedError(failure);
      }),
    ).toEqual({
      ...failure,
      reason: 'HTTP filter "guard": who are you?',
      policy: undefined,
      decidedBy,
    });
  });

  it.each<[string, () => unknown, string]>([
    [
      'an exception',
      () => {
        throw new Error('oh');
      },
      'oh',
    ],
    ['a promise', () => Promise.reject(new Error('late')), 'onRequest must not return a promise'],
    [
      'a refusal',
      () => ({ code: 7 }),
      'onRequest must return nothing: throw a CallFailedError to end the request',
    ],
    [
      'false',
      () => false,
      'onRequest must return nothing: throw a CallFailedError to end the request',
    ],
  ])('refuses a request by %s, whose reason the caller is not told', (_what, filter, reason) => {
    expect(onRequest(anything(filter))).toEqual(bug(reason));
  });

  it.each<[string, unknown, string]>([
    ['a promise', Promise.resolve({}), 'createServerFilter must not return a promise'],
    [
      'an object without onRequest',
      {},
      'createServerFilter must return a filter with onRequest, or undefined',
    ],
    ['null', null, 'createServerFilter must return a filter with onRequest, or undefined'],
  ])('refuses all requests if it is %s', (_what, created, reason) => {
    expect(judge({ createServerFilter: () => anything(created) })).toEqual(bug(reason));
  });

  it('is only for the sides that it has a method for', () => {
    const types = (change: Partial<HttpFilterDefinition<string>>) => {
      const registry = registryOf(change);
      return [registry.isSupported(GUARD), registry.forServers.isSupported(GUARD)];
    };
    const createServerFilter = () => undefined;
    const createCallFilter = () => undefined;
    expect(types({ createCallFilter })).toEqual([true, false]);
    expect(types({ createServerFilter })).toEqual([false, true]);
    expect(types({ createCallFilter, createServerFilter })).toEqual([true, true]);
    expect(() => types({})).toThrow(
      new XdsError(
        'XDS_OPTION_INVALID',
        'registerHttpFilter() needs createCallFilter or createServerFilter',
      ),
    );
  });
});
