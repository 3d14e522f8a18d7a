import { ChannelCredentialsRegistry } from './channel-creds-registry';
import {
  defineChannelCredentials,
  type ChannelCredentialsDefinition,
} from './define-channel-credentials';

/**
 * The types of channel credentials of this process: those of the application, and those of this package, which the
 * composition root adds. One registry, since an application may bring its own along before or after it calls
 * `register`.
 */
export const processChannelCredentials = new ChannelCredentialsRegistry([]);

/** See the function of that name of the package. */
export function registerChannelCredentials<Config>(
  definition: ChannelCredentialsDefinition<Config>,
): void {
  if (definition.type === '') throw new Error('Channel credentials need the name of a type');
  processChannelCredentials.register(defineChannelCredentials(definition));
}
