/** Outlier detection as configured (gRFC A50), defaults filled in. Times in milliseconds. */
export interface OutlierDetectionConfig {
  readonly intervalMs: number;
  readonly baseEjectionTimeMs: number;
  readonly maxEjectionTimeMs: number;
  /** 0 to 100. */
  readonly maxEjectionPercent: number;
  readonly successRate:
    | {
        /** Thousandths of a standard deviation. */
        readonly stdevFactor: number;
        readonly enforcementPercentage: number;
        readonly minimumHosts: number;
        readonly requestVolume: number;
      }
    | undefined;
  readonly failurePercentage:
    | {
        readonly threshold: number;
        readonly enforcementPercentage: number;
        readonly minimumHosts: number;
        readonly requestVolume: number;
      }
    | undefined;
}
