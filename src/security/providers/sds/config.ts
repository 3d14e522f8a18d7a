import type { ServerConfig } from '../../../bootstrap/bootstrap';
import { parseServer, type CredentialsSupport } from '../../../bootstrap/server-config-parser';
import { readObject, readRequiredString, type JsonFields } from '../../../util/json-fields';
import type { Violations } from '../../../util/violations';

/** A secret discovery server, and the secrets of a client at it. */
export interface SdsConfig {
  readonly server: ServerConfig;
  /** The secret with the client's certificate and key (`tls_certificate_secret`). Default: `default`. */
  readonly identityName: string;
  /** The secret with the trusted authorities (`validation_context_secret`). Default: `ROOTCA`. */
  readonly rootsName: string;
}

/** The names at the agents of SPIRE and of Istio, unless they are configured otherwise. */
const DEFAULT_IDENTITY_NAME = 'default';
const DEFAULT_ROOTS_NAME = 'ROOTCA';

/** A socket, or one address of this machine. */
const LOCAL =
  /^(?:unix(?:-abstract)?:|(?:(?:passthrough|dns):(?:\/\/\/)?|ipv[46]:)?(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)(?::\d+)?$)/i;

/**
 * Parses the `config` of an instance of `sds`: `sds_server`, of the same form as an element of `xds_servers`, and the names
 * of the secrets. Unknown fields are ignored.
 *
 * @returns `undefined` after adding a violation.
 */
export function parseSdsConfig(
  config: unknown,
  support: CredentialsSupport,
  violations: Violations,
): SdsConfig | undefined {
  const before = violations.count;
  const fields = readObject(config ?? {}, violations) ?? new Map<string, unknown>();
  const server = readServer(fields, support, violations.at('sds_server'));
  const identityName = readName(
    fields,
    'tls_certificate_secret',
    DEFAULT_IDENTITY_NAME,
    violations,
  );
  const rootsName = readName(fields, 'validation_context_secret', DEFAULT_ROOTS_NAME, violations);
  if (server === undefined || violations.count > before) return undefined;
  return { server, identityName, rootsName };
}

function readServer(
  fields: JsonFields,
  support: CredentialsSupport,
  violations: Violations,
): ServerConfig | undefined {
  if (!fields.has('sds_server')) return violations.add('field not present');
  const server = parseServer(fields.get('sds_server'), support, violations);
  if (server === undefined) return undefined;
  const { serverUri, channelCreds } = server;
  if (server.fetch !== undefined) {
    return violations.at('server_uri').add('must be a gRPC target: secrets are sent over gRPC');
  }
  if (channelCreds.type === 'insecure' && !LOCAL.test(serverUri)) {
    return violations
      .at('channel_creds')
      .add(
        'type "insecure" needs a unix: socket or a loopback address: keys would be sent in clear',
      );
  }
  return server;
}

function readName(
  fields: JsonFields,
  name: string,
  fallback: string,
  violations: Violations,
): string {
  return fields.has(name) ? (readRequiredString(fields, name, violations) ?? fallback) : fallback;
}
