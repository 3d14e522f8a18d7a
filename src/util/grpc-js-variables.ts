import { getServers } from 'node:dns';

/** The environment variables, as in `process.env`. */
type Environment = Readonly<Record<string, string | undefined>>;

/** An environment variable that makes grpc-js use a proxy. */
export interface ProxyVariable {
  readonly name: string;
  /** Host and port, without the user information of the variable. */
  readonly address: string;
  /** The variable with the hosts that do not use the proxy, and its value. */
  readonly exempt: { readonly name: string; readonly hosts: string } | undefined;
}

/** grpc-js uses the first that is set, even with an invalid value. */
const PROXY_VARIABLES = ['grpc_proxy', 'https_proxy', 'http_proxy'];
const EXEMPT_VARIABLES = ['no_grpc_proxy', 'no_proxy'];

/**
 * Finds the variable that makes grpc-js connect channels to a proxy instead of resolving their targets.
 * https://github.com/grpc/grpc-node/blob/%40grpc/grpc-js%401.14.0/packages/grpc-js/src/http_proxy.ts
 *
 * @returns `undefined` if there is none, or if every host is exempt.
 */
export function findProxyVariable(env: Environment): ProxyVariable | undefined {
  const name = PROXY_VARIABLES.find((each) => isSet(env[each]));
  const value = name && env[name];
  if (name === undefined || value === undefined || !URL.canParse(value)) return undefined;
  const { protocol, hostname, port } = new URL(value);
  if (protocol !== 'http:') return undefined;
  const address = `${hostname}:${port === '' ? 80 : port}`;
  const exemptName = EXEMPT_VARIABLES.find((each) => isSet(env[each]));
  const hosts = exemptName && env[exemptName];
  if (exemptName === undefined || hosts === undefined) return { name, address, exempt: undefined };
  // Hosts are exempt by suffix, and every host ends with the empty suffix.
  if (hosts.split(',').includes('')) return undefined;
  return { name, address, exempt: { name: exemptName, hosts } };
}

/** Finds the proxy variable of this process. For the composition root. */
export function currentProxyVariable(): ProxyVariable | undefined {
  return findProxyVariable(process.env);
}

/** Describes the variable, its effect on channels, and the remedies. */
export function describeProxyVariable({ name, address, exempt }: ProxyVariable): {
  readonly text: string;
  readonly remedy: string;
} {
  const except =
    exempt === undefined ? '' : ` whose hosts ${exempt.name} (${exempt.hosts}) does not exempt`;
  return {
    text:
      `${name} is set: grpc-js connects channels to xds: targets${except} to the proxy ${address} and does ` +
      'not resolve them',
    remedy: `add the hosts to ${exempt?.name ?? 'no_proxy'}, or set the channel option grpc.enable_http_proxy to 0`,
  };
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '';
}

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

/**
 * Names what the DNS resolver of grpc-js looks names up with: the functions of the operating system, or else the servers of
 * Node.
 * https://github.com/grpc/grpc-node/blob/%40grpc/grpc-js%401.14.0/packages/grpc-js/src/environment.ts
 */
export function currentNameLookup(): string {
  if (process.env['GRPC_NODE_USE_ALTERNATIVE_RESOLVER'] !== 'true') {
    return 'getaddrinfo of the operating system';
  }
  return `DNS server ${getServers().join(', ')}`;
}
