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

/**
 * Makes a type of channel credentials known that a bootstrap may name for a management server (gRFC A27,
 * `xds_servers[].channel_creds[].type`). To be called before the first channel with an `xds:` target is made, which
 * reads the bootstrap; it stays in force whatever bootstrap a later call to `register` brings.
 *
 * A type takes the place of one registered before under that name, those of this package included. It is for
 * servers that speak gRPC; those with an `https:` URI take the type `tls` only.
 *
 * @throws Error if the name of the type is empty.
 */
export function registerChannelCredentials<Config>(
  definition: ChannelCredentialsDefinition<Config>,
): void {
  if (definition.type === '') throw new Error('Channel credentials need the name of a type');
  processChannelCredentials.register(defineChannelCredentials(definition));
}
