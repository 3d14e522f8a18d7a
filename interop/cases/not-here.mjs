// Cases that cannot run on one machine, or not yet, and why.

const kubernetes = 'needs Kubernetes and the gateway controller';
const cloudRun = 'needs Cloud Run';

export const notHere = [
  ['bootstrap_generator_test', 'tests images of the bootstrap generator of Traffic Director'],
  ['app_net_csm_observability_test: test_csm_observability', 'metrics are not there yet'],
  [
    'gamma_baseline_test, gamma_grpcroute_test, affinity_test (GAMMA), affinity_session_drain_test',
    kubernetes,
  ],
  ['csm_observability_test (GAMMA)', kubernetes],
  [
    'cloud_run_csm_inbound_test, cloud_run_csm_outbound_test, spiffe_cloud_run_csm_inbound_test',
    cloudRun,
  ],
];
