/** The environment variables of grpc-js for TLS, which apply to the connections that this package secures as well. */
export interface TlsVariables {
  /** `GRPC_SSL_CIPHER_SUITES`: the cipher suites that are offered, in the format of OpenSSL. */
  readonly cipherSuites?: string | undefined;
  /** `GRPC_DEFAULT_SSL_ROOTS_FILE_PATH`: the authorities that are trusted where none are configured, in PEM. */
  readonly rootsPath?: string | undefined;
}

/**
 * Returns the variables of this process; an empty one is as if it were not set.
 * https://github.com/grpc/grpc-node/blob/%40grpc/grpc-js%401.14.0/packages/grpc-js/src/tls-helpers.ts
 */
export function currentTlsVariables(): TlsVariables {
  const { GRPC_SSL_CIPHER_SUITES: cipherSuites, GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: rootsPath } =
    process.env;
  return { cipherSuites: orAbsent(cipherSuites), rootsPath: orAbsent(rootsPath) };
}

function orAbsent(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}
