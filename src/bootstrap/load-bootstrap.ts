import { createHash } from 'node:crypto';
import { JsonLimitError, parseBoundedJson, type JsonLimits } from '../util/bounded-json';
import { errorMessage } from '../util/errors';
import { MAX_BOOTSTRAP_BYTES, MAX_CONFIG_VALUES } from '../util/limits';
import type { XdsErrorCode } from '../util/xds-error';
import type { Logger } from '../util/logger';
import { readRegularFile } from '../util/read-regular-file';
import { err, ok, type Result } from '../util/result';
import type { Bootstrap, ServerConfig } from './bootstrap';
import { findMisspelt } from './bootstrap-keys';
import { parseBootstrap, type BootstrapFlags, type BootstrapSupport } from './bootstrap-parser';
import type * as JsonSyntax from './json-syntax';
import type * as RelayServer from './relay-server';
import type * as ArgumentErrors from '../util/argument-errors';
import { BOOTSTRAP_OPTION, OWN_OPTION, PEER_OPTION } from '../util/channel-options';
import { isRecord } from '../util/check-arguments';
import { sanitizeText } from '../util/text';
import { lazy } from '../util/lazy';

const loadErrors = lazy<typeof ArgumentErrors>(() => require('../util/argument-errors'));
const loadRelay = lazy<typeof RelayServer>(() => require('./relay-server'));
const loadJsonSyntax = lazy<typeof JsonSyntax>(() => require('./json-syntax'));

/** Bounds on the text of a bootstrap, wherever it is from. */
const JSON_LIMITS: JsonLimits = { maxLength: MAX_BOOTSTRAP_BYTES, maxValues: MAX_CONFIG_VALUES };

export interface BootstrapError {
  readonly kind:
    /** None was given. */
    | 'missing'
    /** The file cannot be read. It may appear later. */
    | 'unreadable'
    | 'not-json'
    /** It is JSON, but not a bootstrap. */
    | 'invalid';
  readonly code: XdsErrorCode;
  /** One line with the source and all violations. */
  readonly message: string;
}

/** Chooses the relay for a bootstrap, as its `server_uri`; `undefined` for that of the environment. */
export type RelayChoice = (bootstrap: Bootstrap) => string | undefined;

export interface LoadBootstrapOptions {
  /** The option of the application: the bootstrap itself or its JSON text. Takes precedence over the environment. */
  readonly inline?: object | string | undefined;
  /** The name of that option in messages. Default: `register({ bootstrap })`. */
  readonly inlineSource?: string;
  /** What to do instead of setting a variable, in the text of a bootstrap that is missing; '' for nothing. Default: pass that option. */
  readonly otherwise?: string | undefined;
  /** The path of a file, as an argument of a command. Takes precedence over the environment. */
  readonly file?: string | undefined;
  /** The path of the saved snapshot. Default: the environment variable `GRPC_XDS_SNAPSHOT_PATH`. */
  readonly snapshotPath?: string | undefined;
  /** Default: the relay of the environment variable `GRPC_XDS_RELAY`. */
  readonly relay?: RelayChoice | undefined;
  /** Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
  /** Returns the text of a file or throws. Default: the file system. */
  readonly readFile?: (path: string) => string;
  readonly support: BootstrapSupport;
  /** Default: all features are on. */
  readonly flags?: BootstrapFlags;
}

interface Found extends Omit<BootstrapJson, 'json'> {
  readonly text: string;
}

/**
 * Reads the bootstrap from the first given source: the option of the application, the file in `GRPC_XDS_BOOTSTRAP`, or
 * the JSON in `GRPC_XDS_BOOTSTRAP_CONFIG`. An empty variable counts as unset. An invalid source is an error; the next
 * one is not tried (gRFC A27).
 */
export function loadBootstrap(options: LoadBootstrapOptions): Result<Bootstrap, BootstrapError> {
  const found = readBootstrapJson(options);
  if (!found.ok) return found;
  const { env = process.env } = options;
  const plain = found.value.json;
  const parsed = parse(plain, found.value, options);
  if (!parsed.ok) return parsed;
  const relay = findRelay(options, env, parsed.value);
  if (!relay.ok) return fail('invalid', `xDS bootstrap cannot be used: ${relay.error}`);
  const bootstrap =
    relay.value === undefined
      ? parsed
      : parse(loadRelay().withRelay(plain, relay.value), found.value, options);
  if (!bootstrap.ok) return bootstrap;
  const { value } = bootstrap;
  const { snapshotPath = env['GRPC_XDS_SNAPSHOT_PATH'] ?? '' } = options;
  if (snapshotPath === '') return ok(value);
  const savedSnapshot = { path: snapshotPath, identity: bootstrapIdentity(value, relay.value) };
  return ok({ ...value, savedSnapshot });
}

/** Parses a bootstrap, and adds the warnings of members that are misspelt. */
function parse(
  json: unknown,
  { source, subject }: BootstrapJson,
  { support, flags }: LoadBootstrapOptions,
): Result<Bootstrap, BootstrapError> {
  const bootstrap = parseBootstrap(json, source, support, flags);
  const registries = [support.channelCreds, support.callCreds, support.certificateProviders];
  const misspelt = findMisspelt(json, (name) => registries.some((known) => known.has(name)));
  if (!bootstrap.ok) {
    const violations = [...bootstrap.error, ...misspelt].join('; ');
    return fail('invalid', `${subject} is invalid: ${violations}`);
  }
  const warnings = [...(bootstrap.value.warnings ?? []), ...misspelt];
  return ok({ ...bootstrap.value, ...(warnings.length > 0 && { warnings }) });
}

/** Returns the relay to put before the servers; `undefined` if there is none. */
function findRelay(
  { relay }: LoadBootstrapOptions,
  env: NodeJS.ProcessEnv,
  bootstrap: Bootstrap,
): Result<string | undefined, string> {
  const chosen = relay?.(bootstrap);
  if (chosen !== undefined || env['GRPC_XDS_RELAY'] === undefined) return ok(chosen);
  return loadRelay().relayOfEnvironment(env);
}

/** Where a bootstrap may be. */
type BootstrapPlaces = Pick<
  LoadBootstrapOptions,
  'inline' | 'inlineSource' | 'otherwise' | 'file' | 'env' | 'readFile'
>;

/** A bootstrap that has not been parsed. */
export interface BootstrapJson {
  /** For `Bootstrap.source`. */
  readonly source: string;
  /** The subject of messages, such as `xDS bootstrap /etc/x.json (GRPC_XDS_BOOTSTRAP)`. */
  readonly subject: string;
  /** The result of `JSON.parse`. */
  readonly json: unknown;
}

/** Reads the JSON of the bootstrap from the first given source; see `loadBootstrap`. */
export function readBootstrapJson(options: BootstrapPlaces): Result<BootstrapJson, BootstrapError> {
  const found = findBootstrap(options);
  if (!found.ok) return found;
  const { source, subject, text } = found.value;
  const json = text.startsWith('\uFEFF') ? text.slice(1) : text;
  if (isQuoted(json)) return fail('not-json', `${subject} has quotes around it: remove them`);
  try {
    return ok({ source, subject, json: parseBoundedJson(json, JSON_LIMITS) });
  } catch (error) {
    if (error instanceof JsonLimitError) {
      return fail('invalid', `${subject} is invalid: ${error.message}`);
    }
    const reason = loadJsonSyntax().findJsonError(json) ?? errorMessage(error);
    return fail('not-json', `${subject} is not JSON: ${describeOtherText(json) ?? reason}`);
  }
}

/** Whether a text has quotes around it, such as those of a file of variables that no shell has read. */
function isQuoted(text: string): boolean {
  const line = text.trim();
  return line.length > 1 && /['"]/.test(line.charAt(0)) && line.endsWith(line.charAt(0));
}

/** Says what a text is in place of JSON: nothing, an address, the path of a file or YAML; `undefined` if it looks like none. */
function describeOtherText(text: string): string | undefined {
  const line = text.trim();
  if (line === '') return 'it is empty';
  if (/^["{[]/.test(line)) return undefined;
  if (/^(?:dns:\/*)?[\w.-]+:\d+$/.test(line)) {
    return 'it looks like the address of a server: npx grpc-xds-cli bootstrap plain --server writes a bootstrap with it';
  }
  if (/^(?:---|\w+:\s)/.test(line)) return 'it looks like YAML: write it as JSON';
  if (/[\s{}[\]"]/.test(line) || !/[\\/]|\.(?:json|ya?ml)$/.test(line)) return undefined;
  return 'it looks like the path of a file: set GRPC_XDS_BOOTSTRAP to it, or give the text in it';
}

/**
 * Creates a function that loads the bootstrap when first called. A failure is not cached, because an agent may write
 * the file after the application has started; a success is, because the bootstrap of a process does not change. The warnings of the
 * bootstrap are logged once.
 */
export function createBootstrapLoader(
  options: LoadBootstrapOptions,
  logger: Logger,
): () => Result<Bootstrap, BootstrapError> {
  let loaded: Bootstrap | undefined;
  return () => {
    if (loaded !== undefined) return ok(loaded);
    const result = loadBootstrap(options);
    if (!result.ok) return result;
    loaded = result.value;
    const { source, warnings = [] } = loaded;
    for (const warning of warnings) logger.error(() => `xDS bootstrap ${source}: ${warning}`);
    return result;
  };
}

/**
 * Returns why the options of a channel cannot be used; `undefined` if they can. A channel with an option that this package
 * would have to pass over is not as the application has said.
 *
 * @param known The options of this package.
 */
export function findOptionProblem(options: object, known: readonly string[]): string | undefined {
  for (const name of Object.keys(options)) {
    if (name === PEER_OPTION) {
      return `channel option ${name} is of @grpc/grpc-js-xds: use ${BOOTSTRAP_OPTION} of grpc-xds`;
    }
    const owners = name.includes('.') ? undefined : loadErrors().describeOwners(name);
    if (owners !== undefined) {
      return `channel option ${name} has no effect: it is ${owners}; the channel options of grpc-xds are ${known.join(', ')}`;
    }
    if (OWN_OPTION.test(name) && !known.includes(name)) {
      const text = loadErrors().describeUnknown('channel option', name, known);
      return `${text}; those of grpc-xds are ${known.join(', ')}`;
    }
  }
  const attempts: unknown = Reflect.get(options, ATTEMPTS_OPTION);
  const isUsable =
    typeof attempts === 'number'
      ? !Number.isNaN(attempts)
      : attempts === undefined || attempts === null;
  return isUsable
    ? undefined
    : `channel option ${ATTEMPTS_OPTION} must be a number, not ${String(attempts)}: retries would have no limit`;
}

/** With what is no number, grpc-js retries without a limit, whatever the route says. */
const ATTEMPTS_OPTION = 'grpc-node.retry_max_attempts_limit';

/** The number of bootstraps of channels or servers that are known by their text. */
const MAX_LOADERS = 100;

/** The loaders of bootstraps that are options of channels or servers. Those with equal bootstraps share one, and so their streams. */
export class OptionBootstraps {
  private readonly loaders = new Map<string, () => Result<Bootstrap, BootstrapError>>();

  /** @param source The option in messages, such as `XdsServer({ bootstrap })`. */
  constructor(
    private readonly source: string,
    private readonly options: Pick<LoadBootstrapOptions, 'support' | 'flags' | 'relay'>,
    private readonly logger: Logger,
  ) {}

  /** Returns the loader of the bootstrap in the options of a channel or server; `undefined` if there is none. */
  loaderOf(option: unknown): (() => Result<Bootstrap, BootstrapError>) | undefined {
    if (option === undefined) return undefined;
    const { source: inlineSource } = this;
    const found = readOption(option, inlineSource);
    if (!found.ok) return () => found;
    const { value: inline } = found;
    const known = this.loaders.get(inline);
    if (known !== undefined) return known;
    // A file for saved resources is that of the process, for its own bootstrap.
    const options = { ...this.options, inline, inlineSource, snapshotPath: '' };
    const loader = createBootstrapLoader(options, this.logger);
    this.loaders.set(inline, loader);
    for (const oldest of this.loaders.keys()) {
      if (this.loaders.size <= MAX_LOADERS) break;
      this.loaders.delete(oldest);
    }
    return loader;
  }
}

function readOption(option: unknown, source: string): Result<string, BootstrapError> {
  if (typeof option === 'string') return ok(option);
  try {
    const text: unknown = isRecord(option) ? JSON.stringify(option) : undefined;
    if (typeof text === 'string') return ok(text);
  } catch (error) {
    return fail('not-json', `${source} is not JSON: ${errorMessage(error)}`);
  }
  return fail('invalid', `${source} must be an object or JSON text`);
}

/**
 * Returns a text that is equal for two bootstraps with the same node and servers.
 * @param relay The `server_uri` of the relay, which hands on what the servers after it have.
 */
function bootstrapIdentity({ node, servers, authorities }: Bootstrap, relay?: string): string {
  const keys = (list: readonly ServerConfig[]) =>
    list.filter(({ serverUri }) => serverUri !== relay).map(({ key }) => key);
  const named = [...authorities].map(([name, authority]) => [name, keys(authority.servers)]);
  const content = JSON.stringify([node.id, node.cluster, keys(servers), named]);
  return createHash('sha256').update(content).digest('hex');
}

function findBootstrap(options: BootstrapPlaces): Result<Found, BootstrapError> {
  const { inline, inlineSource = 'register({ bootstrap })', file } = options;
  const { env = process.env, readFile = readBootstrapFile } = options;
  if (inline !== undefined) return fromOption(inline, inlineSource);
  if (file !== undefined) return fromFile(file, `xDS bootstrap ${file}`, readFile);
  const path = env['GRPC_XDS_BOOTSTRAP'];
  if (path !== undefined && path !== '') return fromVariable(path, readFile);
  const text = env['GRPC_XDS_BOOTSTRAP_CONFIG'];
  if (text !== undefined && text !== '') {
    const source = 'GRPC_XDS_BOOTSTRAP_CONFIG';
    return ok({ source, subject: `xDS bootstrap in ${source}`, text });
  }
  const { otherwise = `pass ${inlineSource}` } = options;
  return fail(
    'missing',
    'xDS bootstrap is missing: set GRPC_XDS_BOOTSTRAP to a file or GRPC_XDS_BOOTSTRAP_CONFIG to JSON' +
      `${otherwise && ', or '}${otherwise}${describeMisspeltVariables(env)}`,
  );
}

/** The variables that have a bootstrap. */
const VARIABLES = ['GRPC_XDS_BOOTSTRAP', 'GRPC_XDS_BOOTSTRAP_CONFIG'];

/** Names the variables that are set and were probably meant to have the bootstrap, to follow the text that none has. */
function describeMisspeltVariables(env: NodeJS.ProcessEnv): string {
  const texts = Object.keys(env)
    .filter((name) => /xds|bootst/i.test(name) && !VARIABLES.includes(name))
    .flatMap((name) => {
      const meant = loadErrors().findSimilar(name, VARIABLES);
      return meant === undefined ? [] : `; ${sanitizeText(name)} is set: did you mean ${meant}?`;
    });
  return texts.join('');
}

function fromOption(inline: object | string, source: string): Result<Found, BootstrapError> {
  const subject = `xDS bootstrap given to ${source}`;
  if (typeof inline === 'string') return ok({ source, subject, text: inline });
  // As text, so that later changes of the object have no effect.
  try {
    const text: unknown = JSON.stringify(inline);
    // A function, for one, has no text.
    if (typeof text !== 'string')
      return fail('invalid', `${subject} is invalid: must be an object`);
    return ok({ source, subject, text });
  } catch (error) {
    const firstLine = errorMessage(error).split('\n', 1).join();
    return fail('not-json', `${subject} is not JSON: ${firstLine}`);
  }
}

function fromVariable(
  path: string,
  readFile: (path: string) => string,
): Result<Found, BootstrapError> {
  if (path.trimStart().startsWith('{')) {
    return fail(
      'unreadable',
      'xDS bootstrap in GRPC_XDS_BOOTSTRAP cannot be read: it is JSON text, and this variable takes the path of a file: set ' +
        'GRPC_XDS_BOOTSTRAP_CONFIG to the text',
    );
  }
  return fromFile(path, `xDS bootstrap ${path} (GRPC_XDS_BOOTSTRAP)`, readFile);
}

function fromFile(
  path: string,
  subject: string,
  readFile: (path: string) => string,
): Result<Found, BootstrapError> {
  try {
    return ok({ source: path, subject, text: readFile(path) });
  } catch (error) {
    const reason = describeOtherPath(path) ?? errorMessage(error);
    return fail('unreadable', `${subject} cannot be read: ${reason}`);
  }
}

/** Says what a path that cannot be read is in place of one; `undefined` if it looks like a path. */
function describeOtherPath(path: string): string | undefined {
  if (isQuoted(path)) return 'it has quotes around it: remove them';
  if (path.startsWith('~/')) return 'only a shell replaces "~": write the whole path';
  const isUrl = /^[a-z][\w+.-]+:\/\//i.test(path);
  return isUrl ? 'it is a URL, and this variable takes the path of a file' : undefined;
}

/** Returns the text of a bootstrap file. @throws Error if it cannot be read. */
export function readBootstrapFile(path: string): string {
  const read = readRegularFile(path, { maxBytes: MAX_BOOTSTRAP_BYTES });
  if (!read.ok) throw new Error(read.error);
  return read.value.toString('utf8');
}

function fail(kind: BootstrapError['kind'], message: string): Result<never, BootstrapError> {
  const code = kind === 'missing' ? 'XDS_BOOTSTRAP_MISSING' : 'XDS_BOOTSTRAP_INVALID';
  return err({ kind, code, message });
}
