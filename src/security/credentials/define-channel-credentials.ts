import type { ChannelCredentials } from '../../grpc-js';
import { withMethods } from '../../util/check-arguments';
import { createContained, parseConfigContained } from '../../util/contained';
import { err, type Result } from '../../util/result';
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
      const parsed = parseConfigContained(
        json,
        (config) => definition.parseConfig(config),
        violations,
        'the type',
      );
      return parsed && (() => create(definition, parsed.value));
    },
  };
}

function create<Config>(
  definition: ChannelCredentialsDefinition<Config>,
  config: Config,
): Result<ChannelCredentials, string> {
  const created = createContained(() => definition.create(config), 'they cannot be made');
  if (!created.ok || CREDENTIALS.accepts(created.value)) return created;
  return err('create must return ChannelCredentials');
}

/** Those of every copy of grpc-js. Plain JavaScript may return anything. */
const CREDENTIALS = withMethods('ChannelCredentials', '_createSecureConnector');
