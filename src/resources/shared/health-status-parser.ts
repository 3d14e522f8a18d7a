import { HealthStatus as HealthStatusMessage } from '../../generated/envoy/config/core/v3/health_check';
import type { HealthStatus } from '../endpoints';

/** The state in this client's terms; `undefined` for states in which an endpoint gets no calls (gRFCs A27, A55). */
export function parseHealthStatus(status: HealthStatusMessage): HealthStatus | undefined {
  switch (status) {
    case HealthStatusMessage.UNKNOWN:
      return 'UNKNOWN';
    case HealthStatusMessage.HEALTHY:
      return 'HEALTHY';
    case HealthStatusMessage.DRAINING:
      return 'DRAINING';
    default:
      return undefined;
  }
}
