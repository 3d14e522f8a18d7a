import type { OutlierDetectionConfig } from '../../../src/resources/cluster/cluster';

/** Ejects whoever fails more than half of ten calls. */
export const failurePercentage = {
  threshold: 50,
  enforcementPercentage: 100,
  minimumHosts: 3,
  requestVolume: 10,
};

/** Ejects whoever is one standard deviation below the mean of ten calls. */
export const successRate = {
  stdevFactor: 1000,
  enforcementPercentage: 100,
  minimumHosts: 3,
  requestVolume: 10,
};

/** Detection with the default times, a limit of half the endpoints, and no algorithm unless the fields have one. */
export function detectionWith(fields: Partial<OutlierDetectionConfig>): OutlierDetectionConfig {
  return {
    intervalMs: 10_000,
    baseEjectionTimeMs: 30_000,
    maxEjectionTimeMs: 300_000,
    maxEjectionPercent: 50,
    successRate: undefined,
    failurePercentage: undefined,
    ...fields,
  };
}
