import type { ChannelCredentials } from '../../grpc-js';
import { withMethods } from '../../util/check-arguments';
import { atOnce, parseContained } from '../../util/contained';
import { errorMessage } from '../../util/errors';
import { readObject } from '../../util/json-fields';
import { err, ok, type Result } from '../../util/result';
import type { CredentialsType } from './credentials-registry';

/**
 * A type of channel credentials of an application. See `registerChannelCredentials`.
 *
 * @typeParam Config - The parsed `channel_creds[].config`.
 */
export interface ChannelCredentialsDefinition<Config> {
  /** The name in `channel_creds[].type`, such as `acme_mtls`. */
  readonly type: string;
  /**
   * Parses and validates `channel_creds[].config`, an empty object if it is absent. Unknown members should be ignored. An
   * exception makes the bootstrap invalid, with its message or all messages of an `AggregateError`. May be called more
   * than once; must have no side effect.
   */
  parseConfig(config: Readonly<Record<string, unknown>>): Config;
  /**
   * Creates the credentials for a connection to a server. An exception makes the server unusable until a retry after a
   * backoff: the message is logged and is part of the status of calls that wait for the server, and the next server of
   * the list is used, if any.
   */
  create(config: Config): ChannelCredentials;
}

/** Converts a definition of an application to a type for the registry. */
export function defineChannelCredentials<Config>(
  definition: ChannelCredentialsDefinition<Config>,
): CredentialsType<ChannelCredentials> {
  const { type } = definition;
  return {
    type,
    parse(json, violations) {
      const fields = readObject(json ?? {}, violations);
      if (fields === undefined) return undefined;
      const config = Object.fromEntries(fields);
      const parse = () => definition.parseConfig(config);
      const parsed = parseContained(parse, violations, 'the type');
      return parsed && (() => tryCreate(definition, parsed.value));
    },
  };
}

function tryCreate<Config>(
  definition: ChannelCredentialsDefinition<Config>,
  config: Config,
): Result<ChannelCredentials, string> {
  try {
    const created = atOnce(definition.create(config), 'create must not return a promise');
    return CREDENTIALS.accepts(created)
      ? ok(created)
      : err('create must return ChannelCredentials');
  } catch (error) {
    return err(errorMessage(error) || 'they cannot be made');
  }
}

/** Those of every copy of grpc-js. Plain JavaScript may return anything. */
const CREDENTIALS = withMethods('ChannelCredentials', '_createSecureConnector');
