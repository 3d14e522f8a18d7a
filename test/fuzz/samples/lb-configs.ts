/** Load-balancing configs as a service config has them. */
export const lbConfigSamples: readonly unknown[] = [
  [{ unknown_policy: {} }, { round_robin: {} }],
  [
    {
      outlier_detection_experimental: {
        interval: '10s',
        successRateEjection: { stdevFactor: 1900 },
        childPolicy: [{ ring_hash_experimental: { minRingSize: 1, maxRingSize: 5 } }],
      },
    },
  ],
  [{ weighted_round_robin: { weightUpdatePeriod: '1s', errorUtilizationPenalty: 1 } }],
  [
    {
      xds_wrr_locality_experimental: {
        childPolicy: [{ pick_first: { shuffleAddressList: true } }],
      },
    },
  ],
  [{ least_request_experimental: { choiceCount: 2 } }],
];
