/** The options of each public function, for errors that say where an option belongs. A test compares them with the rules. */
export const OPTIONS_BY_FUNCTION: Readonly<Record<string, string>> = {
  'register()':
    'bootstrap childChannelOptions hiddenHeaders limits logger recoveryLevel requireBootstrap share snapshotPath',
  'new XdsServer()': 'bootstrap drainGraceTimeMs drainJitterMs listenerName onServingState',
  'inspect()': 'contents maxBytes target',
  'serveAdminPage()': 'allowedHosts host links port signal token',
  'ready()': 'signal',
  'shutdown()': 'timeoutMs',
  'observe()':
    'channelFilter disableAllMetrics disableMetrics enableMetrics meterProvider methodAttributeFilter metricProducer ' +
    'optionalLabels textMapPropagator tracerProvider',
  'new Relay()': 'bootstrap env listen logger maxCachedBytes maxMessageBytes maxNodes node',
  'Relay.start()': 'signal',
  'Relay.close()': 'force',
  'createReloadingServerCredentials()':
    'certificateProvider files requireClientCertificate sds trust',
  'createAuthorizationInterceptor()': 'auditLoggers policy',
  'new OrcaReporter()': 'measure minReportIntervalMs',
  'new ControlPlane()':
    'authenticate credentials groupOf host listen loadReporting logger maxConnectionAgeMs onClientEvent onLoadReport snapshot ' +
    'source',
  'ControlPlane.start()': 'signal',
  'ControlPlane.setSnapshot()': 'allowInconsistent group nodeId',
  'ControlPlane.setLoadReporting()': 'clusters intervalMs reportEndpointGranularity',
  'ControlPlane.close()': 'force moveMs',
  'watchKubernetes()':
    'clusterDomain context controllerName hasRoutes kubeconfig logger namespaceSelector namespaces savedPath signal ' +
    'writesStatus',
  'examineKubernetes()':
    'account audience clusterDomain context kubeconfig namespace onFinding signal target tokenPath',
  'Snapshot.forServices()': 'reportsLoad',
  'Snapshot.forServers()': 'nameTemplate',
  'Snapshot.from()': 'clusters endpoints errors ignoreUnknownFields listeners resources routes',
  'loadResourceFile()': 'allowInconsistent ignoreUnknownFields',
  'watchResourceFile()': 'allowInconsistent debounceMs ignoreUnknownFields logger pollMs signal',
  'authorize()': 'address dnsNames from headers path remote subject tls',
  'lbPolicyContract()': 'config connectsAtOnce headers picksToConnect policy usesEveryEndpoint',
};

/** Functions in one message. */
const MAX_NAMED = 3;

/**
 * Says of which other public functions a name is an option, such as `an option of register() and new XdsServer()`;
 * `undefined` if it is of none.
 *
 * @param except A function that is not named.
 */
export function describeOwners(name: string, except = ''): string | undefined {
  const owners = Object.entries(OPTIONS_BY_FUNCTION)
    .filter(([owner, options]) => owner !== except && options.split(' ').includes(name))
    .map(([owner]) => owner)
    .slice(0, MAX_NAMED);
  const last = owners.pop();
  if (last === undefined) return undefined;
  return `an option of ${owners.length === 0 ? last : `${owners.join(', ')} and ${last}`}`;
}
