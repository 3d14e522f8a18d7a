import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { MAX_INPUT_BYTES } from '../../../../../src/util/limits';
import { HOST_RANGE } from '../../../../../src/util/version';
import { readFeatureFlags, type FeatureFlags } from '../../../../../src/util/feature-flags';
import { readRegularText } from '../../../../../src/util/read-regular-file';
import {
  describeProxyVariable,
  findProxyVariable,
} from '../../../../../src/util/grpc-js-variables';
import { findSimilar } from '../../../../../src/util/similar-name';
import type { Findings } from './finding';

/** The process and folder of the application. */
export interface HostFacts {
  /** As in `process.versions.node`. */
  readonly nodeVersion: string;
  /** The folder of the application's package. */
  readonly folder: string;
  /** The environment variables, as in `process.env`. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The lowest version of Node.js; a test compares it with package.json. */
export const MIN_NODE = '20.19.0';

/** Checks Node.js, the copies of grpc-js, the feature flags and the proxy variables. */
export function checkHostFacts(facts: HostFacts, findings: Findings): void {
  checkNode(facts, findings);
  checkGrpcJs(facts, findings);
  checkOwnCopies(facts, findings);
  checkFlags(facts, findings);
  checkProxy(facts, findings);
}

function checkNode({ nodeVersion }: HostFacts, findings: Findings): void {
  if (isAtLeast(nodeVersion, MIN_NODE)) findings.ok('node', 'node', nodeVersion);
  else {
    const text = `Node.js ${nodeVersion} is older than ${MIN_NODE}`;
    findings.fail('node', 'node', text, `install Node.js ${MIN_NODE} or later`);
  }
}

function checkGrpcJs({ folder }: HostFacts, findings: Findings): void {
  const subject = 'grpc-js';
  const resolve = createRequire(join(folder, 'package.json')).resolve;
  const own = tryResolve(resolve, '@grpc/grpc-js/package.json');
  if (own === undefined) {
    findings.note('grpc-js', subject, `@grpc/grpc-js is not installed in ${folder}`);
    return;
  }
  const version = versionOf(own);
  if (satisfiesTilde(version, HOST_RANGE)) findings.ok('grpc-js', subject, version);
  else {
    const text = `@grpc/grpc-js ${version} is not ${HOST_RANGE}`;
    findings.fail('grpc-js', subject, text, `install @grpc/grpc-js@${HOST_RANGE}`);
  }
  checkCopies({ folder, own, name: '@grpc/grpc-js' }, findings, {
    code: 'grpc-js-copies',
    subject,
    effect: 'xds: channels of the others fail',
  });
  if (tryResolve(resolve, '@grpc/grpc-js-xds/package.json') !== undefined) {
    const text =
      '@grpc/grpc-js-xds is installed: both packages register xds:, and the last one to register is used';
    findings.warn('grpc-js-xds', subject, text, 'uninstall @grpc/grpc-js-xds');
  }
}

/** Checks that there is one copy of this package: a process with two of them has `xds:` targets by the first alone. */
function checkOwnCopies({ folder }: HostFacts, findings: Findings): void {
  const name = 'grpc-xds';
  const own = tryResolve(
    createRequire(join(folder, 'package.json')).resolve,
    `${name}/package.json`,
  );
  if (own === undefined) return;
  const effect = 'the second register() in a process fails';
  checkCopies({ folder, own, name }, findings, { code: 'grpc-xds-copies', subject: name, effect });
}

function checkCopies(
  installed: { readonly folder: string; readonly own: string; readonly name: string },
  findings: Findings,
  found: { readonly code: string; readonly subject: string; readonly effect: string },
): void {
  const { folder, own, name } = installed;
  const copies = new Set([realpathSync(dirname(own)), ...nestedCopies(folder, name)]);
  if (copies.size === 1) return;
  const text = `${copies.size} copies: ${[...copies].join(', ')}; ${found.effect}`;
  const remedy = 'make all packages depend on one version, then npm dedupe';
  findings.fail(found.code, found.subject, text, remedy);
}

function tryResolve(resolve: NodeJS.RequireResolve, name: string): string | undefined {
  try {
    return resolve(name);
  } catch {
    return undefined;
  }
}

/** The copies that packages of the folder have of their own. */
function nestedCopies(folder: string, name: string): readonly string[] {
  return packagesOf(join(folder, 'node_modules'))
    .map((path) => join(path, 'node_modules', name))
    .filter((path) => existsSync(join(path, 'package.json')))
    .map((path) => realpathSync(path));
}

function packagesOf(modules: string): readonly string[] {
  if (!existsSync(modules)) return [];
  return readdirSync(modules).flatMap((name) => {
    const path = join(modules, name);
    if (!name.startsWith('@')) return [path];
    return readdirSync(path).map((scoped) => join(path, scoped));
  });
}

function versionOf(manifestPath: string): string {
  const text = readRegularText(manifestPath, { maxBytes: MAX_INPUT_BYTES });
  const manifest: unknown = text.ok ? JSON.parse(text.value) : undefined;
  const hasVersion = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return hasVersion ? String(manifest.version) : 'without a version';
}

function numbersOf(version: string): readonly number[] {
  return version
    .replace(/^[^\d]*/, '')
    .split(/[.+-]/, 3)
    .map(Number);
}

function isAtLeast(version: string, minimum: string): boolean {
  const [found, needed] = [numbersOf(version), numbersOf(minimum)];
  for (const [i, part] of needed.entries()) {
    const own = found[i] ?? 0;
    if (own !== part) return own > part;
  }
  return true;
}

/** Whether a version is in a range such as `~1.14.0`. */
function satisfiesTilde(version: string, range: string): boolean {
  const [found, needed] = [numbersOf(version), numbersOf(range)];
  return found[0] === needed[0] && found[1] === needed[1] && isAtLeast(version, range);
}

/** Variables that are not flags. */
const OTHER_VARIABLES = [
  'GRPC_XDS_BOOTSTRAP',
  'GRPC_XDS_BOOTSTRAP_CONFIG',
  'GRPC_XDS_SNAPSHOT_PATH',
  'GRPC_XDS_RELAY',
  'GRPC_XDS_SHARE',
];

/** The variables of all flags, each with the flag. */
function flagVariables(): readonly string[] {
  const read: string[] = [];
  const recorder = {
    get: (_env: object, name: string) => {
      read.push(name);
      return undefined;
    },
  };
  readFeatureFlags(new Proxy<Record<string, string | undefined>>({}, recorder));
  return read;
}

function checkFlags({ env }: HostFacts, findings: Findings): void {
  const known = flagVariables();
  const names = Object.keys(env).filter((name) => /^GRPC_(EXPERIMENTAL|XDS)_/.test(name));
  for (const name of names) {
    const value = env[name] ?? '';
    if (known.includes(name)) {
      if (/^\s*(true|false)\s*$/i.test(value)) continue;
      const text = `${name}=${value} has no effect: neither true nor false`;
      findings.warn('flag-value', 'flags', text, `set ${name} to true or false, or unset it`);
    } else if (!OTHER_VARIABLES.includes(name)) {
      const meant = findSimilar(name, [...known, ...OTHER_VARIABLES]);
      if (meant === undefined) continue;
      const text = `${name} is not known`;
      findings.warn('flag-name', 'flags', text, `did you mean ${meant}?`);
    }
  }
  findings.ok('flags', 'flags', describeFlags(readFeatureFlags(env), readFeatureFlags({})));
}

function describeFlags(flags: FeatureFlags, defaults: FeatureFlags): string {
  const others = new Map<string, boolean>(Object.entries(defaults));
  const changed = Object.entries(flags).filter(([name, value]) => others.get(name) !== value);
  if (changed.length === 0) return 'all have their defaults';
  return changed.map(([name, value]) => `${name} ${value === true ? 'on' : 'off'}`).join(', ');
}

function checkProxy({ env }: HostFacts, findings: Findings): void {
  const proxy = findProxyVariable(env);
  if (proxy === undefined) {
    findings.ok('proxy', 'proxy', 'no variable sends xds: channels to a proxy');
    return;
  }
  const { text, remedy } = describeProxyVariable(proxy);
  findings.warn('proxy', 'proxy', text, remedy);
}
