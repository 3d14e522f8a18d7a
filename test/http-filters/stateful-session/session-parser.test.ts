import {
  parseSessionConfig,
  parseSessionOverride,
  STATEFUL_SESSION,
  STATEFUL_SESSION_PER_ROUTE,
} from '../../../src/http-filters/stateful-session/session-parser';
import { Violations } from '../../../src/util/violations';
import { encodeMessage } from '../../resources/decode-json';
import type { Json } from '../../support/xds-json';

const COOKIE_STATE = 'envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState';

function sessionWith(cookie: Json | undefined): Json {
  const typed_config = {
    '@type': `type.googleapis.com/${COOKIE_STATE}`,
    ...(cookie && { cookie }),
  };
  return { session_state: { name: 'cookie', typed_config } };
}

function parse(json: Json) {
  const violations = Violations.root();
  const bytes = encodeMessage(STATEFUL_SESSION, json);
  const config = { kind: 'message', typeName: STATEFUL_SESSION, bytes } as const;
  return { parsed: parseSessionConfig(config, violations), violations: violations.all };
}

function parseOverride(json: Json) {
  const violations = Violations.root();
  const bytes = encodeMessage(STATEFUL_SESSION_PER_ROUTE, json);
  const config = { kind: 'message', typeName: STATEFUL_SESSION_PER_ROUTE, bytes } as const;
  return { parsed: parseSessionOverride(config, violations), violations: violations.all };
}

describe('a config of stateful sessions', () => {
  it.each<[string, Json, object | undefined]>([
    ['no session state', {}, undefined],
    ['a name', sessionWith({ name: 'c' }), { name: 'c', path: '/', ttlMs: 0 }],
    [
      'everything',
      sessionWith({ name: 'c', path: '/pkg.Service', ttl: '120.5s' }),
      { name: 'c', path: '/pkg.Service', ttlMs: 120_500 },
    ],
    [
      'strictness, which clients do not look at',
      { ...sessionWith({ name: 'c' }), strict: true },
      { name: 'c', path: '/', ttlMs: 0 },
    ],
  ])('may have %s', (_case, json, cookie) => {
    const { parsed, violations } = parse(json);
    expect(violations).toEqual([]);
    expect(parsed).toEqual({ configType: STATEFUL_SESSION, cookie });
  });

  const place = 'session_state.typed_config';
  it.each<[string, Json, readonly string[]]>([
    ['no config of the state', { session_state: {} }, [`${place}: field not present`]],
    [
      'a state of another kind',
      {
        session_state: {
          typed_config: { '@type': 'type.googleapis.com/google.protobuf.Struct', value: {} },
        },
      },
      [`${place}: must be ${COOKIE_STATE}, not google.protobuf.Struct`],
    ],
    ['no cookie', sessionWith(undefined), [`${place}.cookie: field not present`]],
    ['no name', sessionWith({}), [`${place}.cookie.name: must not be empty`]],
    [
      'a name and a path that no header can carry',
      sessionWith({ name: 'a=b', path: '/a;b' }),
      [
        `${place}.cookie.name: cannot be that of a cookie: "a=b"`,
        `${place}.cookie.path: cannot be that of a cookie: "/a;b"`,
      ],
    ],
    [
      'a name and a path of 1025 characters',
      sessionWith({ name: 'n'.repeat(1025), path: '/'.repeat(1025) }),
      [
        `${place}.cookie.name: must have at most 1024 characters`,
        `${place}.cookie.path: must have at most 1024 characters`,
      ],
    ],
    [
      'a lifetime before it began, and no name',
      sessionWith({ ttl: '-1s' }),
      [
        `${place}.cookie.name: must not be empty`,
        `${place}.cookie.ttl.seconds: must be from 0 to 315576000000, not -1`,
      ],
    ],
  ])('must not have %s', (_case, json, expected) => {
    const { parsed, violations } = parse(json);
    expect(violations).toEqual(expected);
    expect(parsed).toBeUndefined();
  });

  it('must not be a TypedStruct', () => {
    const violations = Violations.root();
    const config = { kind: 'json', typeName: STATEFUL_SESSION, json: {} } as const;
    expect(parseSessionConfig(config, violations)).toBeUndefined();
    expect(violations.all).toEqual([
      `must be a ${STATEFUL_SESSION} itself, not a TypedStruct that stands for one`,
    ]);
  });
});

describe('an override of stateful sessions', () => {
  it.each<[string, Json, object | undefined]>([
    ['disables', { disabled: true }, undefined],
    ['says nothing, which disables', {}, undefined],
    [
      'replaces',
      { stateful_session: sessionWith({ name: 'other' }) },
      { name: 'other', path: '/', ttlMs: 0 },
    ],
    ['replaces with nothing', { stateful_session: {} }, undefined],
  ])('%s', (_case, json, cookie) => {
    const { parsed, violations } = parseOverride(json);
    expect(violations).toEqual([]);
    expect(parsed).toEqual({ configType: STATEFUL_SESSION_PER_ROUTE, cookie });
  });

  it('is rejected with the path of the invalid field', () => {
    const { parsed, violations } = parseOverride({ stateful_session: sessionWith({}) });
    expect(parsed).toBeUndefined();
    expect(violations).toEqual([
      'stateful_session.session_state.typed_config.cookie.name: must not be empty',
    ]);
  });
});
