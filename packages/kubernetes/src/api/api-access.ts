import type { OutgoingHttpHeaders } from 'node:http';
import type { RequestOptions } from 'node:https';
import { dirname } from 'node:path';
import { errorMessage } from '../../../../src/util/errors';
import { requireOptional } from '../../../../src/util/optional-package';
import { readRegularText } from '../../../../src/util/read-regular-file';
import { err, ok, type Result } from '../../../../src/util/result';
import { quoteText, sanitizeText } from '../../../../src/util/text';
import { findTokenFile, MAX_KUBECONFIG_BYTES, readTokenFile } from './token-file';

/** Where the API server is, and as whom it is called. */
export interface ApiAccess {
  /** The URL of the API server, without a slash at the end. */
  readonly address: string;
  /** Whether a proxy is used, whose agent is among the credentials. */
  readonly hasProxy: boolean;
  /** Returns what a request needs, with a token as it is now. */
  credentials(): Promise<ApiCredentials>;
  /** Reads the configuration again, such as after credentials were refused. */
  reload(): void;
}

/** What a request needs. */
export interface ApiCredentials {
  /** Options of TLS, and the agent of a proxy. */
  readonly options: RequestOptions;
  readonly headers: OutgoingHttpHeaders;
}

/** Which API server is used. */
export interface ApiAccessOptions {
  /** The path of a kubeconfig. Default: as kubectl finds it, or the service account of the pod that this process runs in. */
  readonly kubeconfig?: string | undefined;
  /** The name of a context of the kubeconfig. Default: the current context. */
  readonly context?: string | undefined;
}

/** The package that knows kubeconfigs, service accounts and the plugins for credentials. */
const PACKAGE = '@kubernetes/client-node';

/** The used part of its `KubeConfig`. */
interface KubeConfig {
  loadFromDefault(): void;
  loadFromString(config: string): void;
  makePathsAbsolute(folder: string): void;
  setCurrentContext(context: string): void;
  getContexts(): readonly { readonly name: string }[];
  /** Undefined if the kubeconfig names none. */
  getCurrentContext(): string | undefined;
  getCurrentUser(): { readonly name: string } | null;
  getCurrentCluster(): { readonly server: string; readonly proxyUrl?: string } | null;
  applyToHTTPSOptions(options: RequestOptions): Promise<void>;
}

/** What `loadFromDefault` falls back to if it finds no configuration. */
const NO_CONFIGURATION = 'http://localhost:8080';

/**
 * Finds the API server and the credentials for it.
 *
 * @param load Loads the package or throws. Default: from the dependencies of this package.
 * @returns an error text with the next step.
 */
export function loadApiAccess(
  options: ApiAccessOptions,
  load: () => unknown = () => requireOptional(PACKAGE),
  nodeVersion = process.versions.node,
): Result<ApiAccess, string> {
  let library: unknown;
  try {
    library = load();
  } catch (error) {
    const cause = errorMessage(error).split('\n', 1).join();
    return err(
      `the package ${PACKAGE} cannot be loaded: ${nextStep(error, nodeVersion)}: ${cause}`,
    );
  }
  if (!isLibrary(library)) return err(`the package ${PACKAGE} has no KubeConfig`);
  const { KubeConfig } = library;
  const read = () => readConfig(new KubeConfig(), options);
  const config = read();
  return config.ok ? ok(new KubeConfigAccess(config.value, read)) : config;
}

/** Version 2 depends on undici 8, which needs this version; npm only warns of it. */
const NODE_FOR_VERSION_2 = [22, 19] as const;

/** Returns what to do about a package that cannot be loaded. */
function nextStep(error: unknown, nodeVersion: string): string {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  const [neededMajor, neededMinor] = NODE_FOR_VERSION_2;
  const isOld = major < neededMajor || (major === neededMajor && minor < neededMinor);
  const install = `npm install ${PACKAGE}${isOld ? '@1' : ''}`;
  const isMissing = error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND';
  if (isMissing || !isOld) return install;
  const needed = NODE_FOR_VERSION_2.join('.');
  return `version 2 of it needs Node.js ${needed} or later, and this is ${nodeVersion}: ${install}, or use a later Node.js`;
}

interface Library {
  readonly KubeConfig: new () => KubeConfig;
}

function isLibrary(library: unknown): library is Library {
  return (
    typeof library === 'object' &&
    library !== null &&
    'KubeConfig' in library &&
    typeof library.KubeConfig === 'function'
  );
}

/** A configuration with its cluster. */
interface ReadConfig {
  readonly config: KubeConfig;
  readonly server: string;
  readonly hasProxy: boolean;
  /** The path of the file with the token; `undefined` if the official client has the credentials. */
  readonly tokenFile: string | undefined;
}

function readConfig(
  config: KubeConfig,
  { kubeconfig, context }: ApiAccessOptions,
): Result<ReadConfig, string> {
  const source = kubeconfig === undefined ? 'the kubeconfig' : `the kubeconfig ${kubeconfig}`;
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else {
      const text = readRegularText(kubeconfig, { maxBytes: MAX_KUBECONFIG_BYTES });
      if (!text.ok) return err(`${source} cannot be read: ${text.error}`);
      if (text.value.trim() === '') return err(`${source} is empty`);
      config.loadFromString(text.value);
      config.makePathsAbsolute(dirname(kubeconfig));
    }
    if (context !== undefined) config.setCurrentContext(context);
    const cluster = config.getCurrentCluster();
    if (cluster === null) return err(`${source} has no ${describeContexts(config)}`);
    const { server, proxyUrl } = cluster;
    if (kubeconfig === undefined && server === NO_CONFIGURATION) {
      return err(
        'there is no kubeconfig, and no service account of a pod: name a kubeconfig, or run this in a cluster with automountServiceAccountToken',
      );
    }
    const user = config.getCurrentUser();
    const tokenFile = user === null ? undefined : findTokenFile(kubeconfig, user.name);
    const url = new URL(server).href.replace(/\/$/, '');
    return ok({ config, server: url, hasProxy: !!proxyUrl, tokenFile });
  } catch (error) {
    return err(`${source} cannot be used: ${sanitizeText(errorMessage(error), 1024)}`);
  }
}

function describeContexts(config: KubeConfig): string {
  const names = config.getContexts().map(({ name }) => quoteText(name));
  const context = config.getCurrentContext();
  const wanted =
    context === undefined ? 'current context' : `cluster for the context ${quoteText(context)}`;
  return names.length === 0 ? wanted : `${wanted}; its contexts are ${names.join(', ')}`;
}

class KubeConfigAccess implements ApiAccess {
  readonly address: string;

  constructor(
    private current: ReadConfig,
    private readonly read: () => Result<ReadConfig, string>,
  ) {
    this.address = current.server;
  }

  get hasProxy(): boolean {
    return this.current.hasProxy;
  }

  async credentials(): Promise<ApiCredentials> {
    const headers: OutgoingHttpHeaders = {};
    const options: RequestOptions = { headers };
    const { config, tokenFile } = this.current;
    await config.applyToHTTPSOptions(options);
    if (tokenFile !== undefined) {
      const read = readTokenFile(tokenFile);
      if (!read.ok) throw new Error(read.error);
      // As for kubectl, it comes before a token of the same user.
      headers['Authorization'] = `Bearer ${read.value}`;
    }
    const { Authorization: token } = headers;
    // Files with a token may end with a newline, which no header can have.
    if (typeof token === 'string') headers['Authorization'] = token.trim();
    return { options, headers };
  }

  reload(): void {
    const config = this.read();
    // A file that is just being written is read again the next time.
    if (config.ok && config.value.server === this.address) this.current = config.value;
  }
}
