import { FUNCTION, TEXTS, type MembersOf } from '../../util/check-arguments';

/** The config of a cluster specifier plugin as the control plane sent it. */
export type ClusterSpecifierConfigInput =
  /** A protobuf message, serialized. */
  | { readonly kind: 'message'; readonly typeName: string; readonly bytes: Uint8Array }
  /** The content of a TypedStruct: plain JSON under a type name, which need not be the name of a message. */
  | {
      readonly kind: 'json';
      readonly typeName: string;
      readonly json: Readonly<Record<string, unknown>>;
    };

/** A cluster specifier plugin of an application. See `registerClusterSpecifierPlugin`. */
export interface ClusterSpecifierPluginDefinition {
  /** Names of the types that configure it, such as `acme.v1.Shard`, of messages or in TypedStructs. */
  readonly configTypes: readonly string[];
  /**
   * Converts a config to a load-balancing config when a route configuration arrives: a list with one `{ name: config }` per choice,
   * of which the first supported one is used. `cds_experimental` uses the cluster in its config, such as
   * `{ cluster: 'shard-1', isDynamic: true }`, where `isDynamic` subscribes to a cluster that no route names. An exception rejects
   * (NACKs) the route configuration with its message, or with all messages of an `AggregateError`, and the last valid one stays in
   * force.
   */
  toLbConfig(input: ClusterSpecifierConfigInput): readonly object[];
}

/** What the members of a definition must be. */
export const CLUSTER_SPECIFIER: MembersOf<ClusterSpecifierPluginDefinition> = {
  configTypes: TEXTS,
  toLbConfig: FUNCTION,
};
