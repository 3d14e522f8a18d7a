import { FieldScanner } from '../../wire/protobuf/field-scanner';
import {
  ClusterSpecifierPlugin,
  RouteMatch,
} from '../../wire/generated/envoy/config/route/v3/route_components';
import { Violations } from '../../util/violations';
import type { ClusterSpecifierParser } from '../extension-points';
import { readExtension } from '../shared/extension-parser';
import { impossibleField } from './route-match-parser';

/** Why a valid route is left out. */
export interface LeftOut {
  /** The field at fault, of the message that was looked at; empty for that itself. */
  readonly field: string;
  readonly text: string;
}

/** The arms of `RouteAction.cluster_specifier`, each with whether a route with it is used (gRFC A28). */
const SPECIFIERS: Readonly<Record<number, { readonly field: string; readonly isUsed: boolean }>> = {
  1: { field: 'cluster', isUsed: true },
  2: { field: 'cluster_header', isUsed: false },
  3: { field: 'weighted_clusters', isUsed: true },
  37: { field: 'cluster_specifier_plugin', isUsed: true },
  39: { field: 'inline_cluster_specifier_plugin', isUsed: false },
};

/**
 * Describes why the route is left out that a match, an action or a plugin is of; `undefined` if it is not because of that.
 * @param plugins Those that are supported; `undefined` if that is not known.
 */
export function leftOutBy(
  message: string,
  bytes: Uint8Array,
  plugins?: Pick<ClusterSpecifierParser, 'isSupported'>,
): LeftOut | undefined {
  if (message === 'envoy.config.route.v3.ClusterSpecifierPlugin')
    return plugins && leftOutByPlugin(bytes, plugins);
  if (message === 'envoy.config.route.v3.RouteMatch') {
    const field = impossibleField(RouteMatch.decode(bytes));
    return field && { field, text: 'the route is left out, since no gRPC call matches it' };
  }
  if (message !== 'envoy.config.route.v3.RouteAction') return undefined;
  const specifier = specifierOf(bytes);
  if (specifier === undefined)
    return { field: '', text: 'the route is left out, since it has no cluster' };
  const { field, isUsed } = specifier;
  return isUsed
    ? undefined
    : { field, text: 'the route is left out, since gRPC does not know such clusters' };
}

function leftOutByPlugin(
  bytes: Uint8Array,
  plugins: Pick<ClusterSpecifierParser, 'isSupported'>,
): LeftOut | undefined {
  const { extension, isOptional } = ClusterSpecifierPlugin.decode(bytes);
  const type = readExtension(extension?.typedConfig, Violations.root())?.typeName;
  if (!isOptional || (type !== undefined && plugins.isSupported(type))) return undefined;
  return {
    field: 'extension',
    text: 'the plugin is not supported, and routes that use it are left out',
  };
}

/** The last one counts, as of every oneof. */
function specifierOf(bytes: Uint8Array): (typeof SPECIFIERS)[number] | undefined {
  const scanner = new FieldScanner(bytes);
  let found: (typeof SPECIFIERS)[number] | undefined;
  while (scanner.next()) found = SPECIFIERS[scanner.number] ?? found;
  return found;
}
