import type { ChannelCredentials } from '../grpc-js';
import { errorMessage } from '../util/error-message';
import { readObject } from '../util/json-fields';
import { err, ok } from '../util/result';
import type { Violations } from '../util/violations';
import type { ChannelCredentialsType } from './channel-credentials-type';

/**
 * A type of channel credentials that an application brings along. See `registerChannelCredentials`.
 *
 * @typeParam Config - What `channel_creds[].config` is parsed into.
 */
export interface ChannelCredentialsDefinition<Config> {
  /** The name in `channel_creds[].type`, such as `acme_mtls`. */
  readonly type: string;
  /**
   * Reads and checks `channel_creds[].config`, an empty object if it is absent. Members that are not known should
   * be ignored. The bootstrap is invalid with the message of what this throws, or with all the messages of an
   * `AggregateError`. May be called more than once; must have no effect.
   */
  parseConfig(config: Readonly<Record<string, unknown>>): Config;
  /**
   * Makes the credentials for a connection to a server. What this throws makes the server unusable for now: the
   * message is logged and is part of the status of calls that wait for the server, the next server of the list is
   * used if there is one, and this is called again after a backoff.
   */
  create(config: Config): ChannelCredentials;
}

/** Gives a definition of an application the form the registry wants. */
export function defineChannelCredentials<Config>(
  definition: ChannelCredentialsDefinition<Config>,
): ChannelCredentialsType {
  const { type } = definition;
  return {
    type,
    parse(json, violations) {
      const fields = readObject(json ?? {}, violations);
      if (fields === undefined) return undefined;
      const parsed = tryParse(definition, Object.fromEntries(fields), violations);
      return parsed === undefined ? undefined : () => tryCreate(definition, parsed.config);
    },
  };
}

function tryParse<Config>(
  definition: ChannelCredentialsDefinition<Config>,
  json: Readonly<Record<string, unknown>>,
  violations: Violations,
): { readonly config: Config } | undefined {
  try {
    return { config: definition.parseConfig(json) };
  } catch (error) {
    const isList = error instanceof AggregateError && error.errors.length > 0;
    for (const each of isList ? error.errors : [error]) {
      violations.add(errorMessage(each) || 'is invalid');
    }
    return undefined;
  }
}

function tryCreate<Config>(definition: ChannelCredentialsDefinition<Config>, config: Config) {
  try {
    return ok(definition.create(config));
  } catch (error) {
    return err(errorMessage(error) || 'they cannot be made');
  }
}
