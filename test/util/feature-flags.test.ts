import { currentFeatureFlags, readFeatureFlags } from '../../src/util/feature-flags';

describe('readFeatureFlags', () => {
  it('enables the released features, and disables the others', () => {
    const off = Object.entries(readFeatureFlags({}))
      .filter(([, value]) => !value)
      .map(([name]) => name);
    expect(off).toEqual([
      'endpointHashKeyBackwardCompat',
      'authorityRewrite',
      'dataErrorHandling',
      'extAuthz',
      'extAuthzOnServers',
      'endpointFallback',
      'compositeFilter',
      'literalAuthorityRewrite',
      'wrrCustomMetrics',
      'priorityChildCache',
      'envoyFeatures',
    ]);
  });

  it.each([
    ['true', true],
    ['TRUE', true],
    [' true ', true],
    ['false', false],
    ['False', false],
  ])('takes %j for a decision', (text, expected) => {
    const flags = readFeatureFlags({
      GRPC_XDS_EXPERIMENTAL_ENABLE_RETRY: text,
      GRPC_EXPERIMENTAL_XDS_DATA_ERROR_HANDLING: text,
    });
    expect([flags.retry, flags.dataErrorHandling]).toEqual([expected, expected]);
  });

  it.each(['', '1', '0', 'yes', 'on'])('takes %j for no decision', (text) => {
    const flags = readFeatureFlags({
      GRPC_XDS_EXPERIMENTAL_ENABLE_RETRY: text,
      GRPC_EXPERIMENTAL_XDS_DATA_ERROR_HANDLING: text,
    });
    expect([flags.retry, flags.dataErrorHandling]).toEqual([true, false]);
  });

  it('has one variable for each flag', () => {
    const asked: string[] = [];
    const env = new Proxy<Record<string, string>>(
      {},
      {
        get: (_target, name) => {
          asked.push(String(name));
          return undefined;
        },
      },
    );
    const flags = readFeatureFlags(env);
    expect(new Set(asked).size).toBe(Object.keys(flags).length);
  });
});

describe('currentFeatureFlags', () => {
  it('reads the environment of the process', () => {
    const before = process.env.GRPC_EXPERIMENTAL_WRR_CUSTOM_METRICS;
    process.env.GRPC_EXPERIMENTAL_WRR_CUSTOM_METRICS = 'true';
    try {
      expect(currentFeatureFlags().wrrCustomMetrics).toBe(true);
    } finally {
      if (before === undefined) delete process.env.GRPC_EXPERIMENTAL_WRR_CUSTOM_METRICS;
      else process.env.GRPC_EXPERIMENTAL_WRR_CUSTOM_METRICS = before;
    }
  });
});
