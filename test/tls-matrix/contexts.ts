// What cases are made of: TLS contexts of clusters, and what becomes of calls.

import { status } from '@grpc/grpc-js';
import type { Json } from '../support/xds-json';
import type { Expectation } from './tls-case';

interface ContextOptions {
  /** The provider instance with the authorities. Default: `root`. */
  readonly roots?: string;
  /** The one with the client's certificate. Default: none. */
  readonly identity?: string;
  /** What else is in the validation context. */
  readonly validation?: Json;
  /** What else is in the common context. */
  readonly common?: Json;
  /** What else is in the UpstreamTlsContext. */
  readonly extra?: Json;
}

/** An UpstreamTlsContext. */
export function tls(options: ContextOptions = {}): Json {
  const { roots = 'root', identity, validation = {}, common = {}, extra = {} } = options;
  return {
    common_tls_context: {
      ...(identity !== undefined && {
        tls_certificate_provider_instance: { instance_name: identity },
      }),
      validation_context: {
        ca_certificate_provider_instance: { instance_name: roots },
        ...validation,
      },
      ...common,
    },
    ...extra,
  };
}

/** One whose server must satisfy one of these matchers. */
export function matching(...match_subject_alt_names: readonly Json[]): Json {
  return tls({ validation: { match_subject_alt_names } });
}

/** One whose server must satisfy one of these matchers, each for names of a type. */
export function matchingTyped(
  ...matchers: readonly (readonly [type: string, matcher: Json])[]
): Json {
  const list = matchers.map(([san_type, matcher]) => ({ san_type, matcher }));
  return tls({ validation: { match_typed_subject_alt_names: list } });
}

export function regex(text: string): Json {
  return { safe_regex: { regex: text } };
}

/** The call succeeds over TLS; by default, no server name is sent. */
export function overTls(extra: Omit<Expectation & { kind: 'tls' }, 'kind'> = {}): Expectation {
  return { kind: 'tls', ...extra };
}

/** The call succeeds in plain text. */
export const inPlain: Expectation = { kind: 'plain' };

/** The call fails with UNAVAILABLE, and nothing of it is sent. */
export function fails(text: string | RegExp): Expectation {
  return { kind: 'fails', text };
}

/** The call fails because of its call credentials. */
export const tokenRefused: Expectation = {
  kind: 'fails',
  code: status.UNAUTHENTICATED,
  text: 'call credentials are not sent over an insecure connection',
  isConnected: true,
};

/** Why servers are refused, as calls say it. */
export const NOT_TRUSTED =
  /is not signed by a trusted authority|by an authority that is not trusted/;
export const EXPIRED = 'has expired (CERT_HAS_EXPIRED)';
export const NOT_YET_VALID = 'is not valid yet (CERT_NOT_YET_VALID)';
export const WRONG_NAME = 'do not satisfy';
