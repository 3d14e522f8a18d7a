import type { XdsConfig } from '../../dependency-manager/xds-config';
import type { PolicyState } from '../../lb/tree/policy-state';
import type { LiveResolution } from '../../resolver/resolver-dependencies';
import type { CertificatesInUse } from '../../security/providers/used-providers';
import type { Result } from '../../util/result';
import type { ClientSnapshot, ResourceHistory } from '../../xds-client/client-snapshot';
import type { ServerReport } from './server-report';
import type { ShareReport } from './share-report';

/** A client of the process. */
export interface InspectedClient {
  /** Its target. */
  readonly scope: string;
  /** By its identity. */
  readonly xdsClient: object;
  readonly nodeId: string;
  /** Returns the resolution that it is for; `undefined` if no channel uses it. */
  readonly resolution: () => LiveResolution | undefined;
  readonly snapshot: () => ClientSnapshot;
  /** Of all clients of its bootstrap. */
  readonly history: () => ResourceHistory;
}

/** The parts of the process that a report describes. */
export interface InspectedProcess {
  readonly clients: readonly InspectedClient[];
  readonly servers: () => readonly ServerReport[];
  readonly certificates: readonly CertificatesInUse[];
  readonly shares: readonly ShareReport[];
  readonly describePolicies: (resolution: LiveResolution) => PolicyState | undefined;
  /** Returns why each call of a channel fails, by the clusters of its resolution. */
  readonly policyFailures: () => ReadonlyMap<LiveResolution['clusters'], string>;
  readonly describeUnusedFields: (typeUrl: string, bytes: Uint8Array) => readonly string[];
  /** Returns the config that a channel of a target would have with these resources, or why there is none. */
  readonly resolve: (given: GivenTarget) => Promise<Result<XdsConfig, string>>;
}

/** A target with given resources. */
export interface GivenTarget {
  readonly target: string;
  /** Default: that of a bootstrap without templates. */
  readonly listenerName?: string | undefined;
  readonly resources: readonly {
    readonly typeUrl: string;
    readonly name: string;
    readonly value: Uint8Array;
  }[];
}
