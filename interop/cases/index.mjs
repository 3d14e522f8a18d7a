import { cases as authz } from './authz.mjs';
import { cases as failover } from './failover.mjs';
import { cases as istio } from './istio.mjs';
import { cases as limits } from './limits.mjs';
import { cases as metadataFilter } from './metadata-filter.mjs';
import { cases as programs } from './programs.mjs';
import { cases as security } from './security.mjs';
import { cases as traffic } from './traffic.mjs';
import { cases as urlMap } from './url-map.mjs';

/**
 * Every case that runs here. A case has
 * - `name`: as gRPC's test descriptions and psm-interop call it; `also`: other names of the same;
 * - `expect`: what must be so, in one line;
 * - `ofOwn`: with another `client` or `server` than that of this package, the case is left out;
 * - `run(mesh)`: resolves with `{ passed, measured }`, the latter in one line. Whatever it starts, the mesh ends.
 */
export const allCases = [
  ...traffic,
  ...failover,
  ...limits,
  ...urlMap,
  ...metadataFilter,
  ...istio,
  ...security,
  ...authz,
  ...programs,
];
