/** The channel option with a bootstrap for that channel: an object, or JSON text. */
export const BOOTSTRAP_OPTION = 'grpc_xds.bootstrap';

/** The channel option with the options of child channels (gRFC A110). */
export const CHILD_CHANNEL_OPTION = 'grpc_xds.child_channel_options';

/** The option of `@grpc/grpc-js-xds` with a bootstrap for a channel. */
export const PEER_OPTION = 'grpc.TEST_ONLY_DO_NOT_USE_IN_PROD.xds_bootstrap_config';

/** The options of this package, also where the name of the package is misspelt: `grpc-xds.`, `grpcXds.`, `grpc.xds.`, `xds.`. */
export const OWN_OPTION = /^(?:grpc[._-]?)?xds[._-]/i;

/**
 * Says that an option is one of channels with an `xds:` target, and has no effect elsewhere; `undefined` if it is not.
 *
 * @param instead The options to use, by the name of the option of channels.
 */
export function describeChannelOption(
  name: string,
  instead: Readonly<Record<string, string>>,
): string | undefined {
  if (name !== PEER_OPTION && !OWN_OPTION.test(name)) return undefined;
  const use = instead[name === PEER_OPTION ? BOOTSTRAP_OPTION : name];
  const hint = use === undefined ? '' : `: use ${use}`;
  return `${name} is an option of channels with an xds: target and has no effect here${hint}`;
}
