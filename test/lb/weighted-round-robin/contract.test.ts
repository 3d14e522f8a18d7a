import { createWeightedRoundRobinPolicyTypes } from '../../../src/lb/weighted-round-robin/balancer';
import {
  DEFAULT_SETTINGS,
  WeightedRoundRobinConfig,
} from '../../../src/lb/weighted-round-robin/config';
import { ok } from '../../../src/util/result';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { singleLocality } from '../../support/lb-harness';
import { RecordingReportSource } from './recording-report-source';

for (const enableOobLoadReport of [false, true]) {
  const config = new WeightedRoundRobinConfig({ ...DEFAULT_SETTINGS, enableOobLoadReport });
  const oobReports = new RecordingReportSource();
  const types = createWeightedRoundRobinPolicyTypes({ oobReports, customMetrics: true });
  for (const type of enableOobLoadReport ? types.slice(0, 1) : types) {
    describeLbPolicyContract({
      name: `${type.name}${enableOobLoadReport ? ' with reports out of band' : ''}`,
      type,
      connectsAtOnce: true,
      usesEveryEndpoint: true,
      makeUpdate: (endpoints) => ({
        config,
        endpoints: endpoints.ok ? ok(singleLocality(...endpoints.value)) : endpoints,
      }),
    });
  }
}
