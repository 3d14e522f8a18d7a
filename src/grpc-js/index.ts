/**
 * The exports of `@grpc/grpc-js` that this package uses. Only this folder uses the `experimental` namespace, which
 * changes between minor versions.
 */
import { experimental, type ChannelCredentials } from '@grpc/grpc-js';

export {
  Channel,
  Client,
  ChannelCredentials,
  CallCredentials,
  Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  connectivityState as ConnectivityState,
  credentials,
  getChannelzHandlers,
  logVerbosity,
  status as Status,
} from '@grpc/grpc-js';
export type {
  ChannelOptions,
  ConnectionInjector,
  Interceptor,
  InterceptorProvider,
  ServerDuplexStream,
  ServerInterceptor,
  ServerOptions,
  ServerUnaryCall,
  ServiceDefinition,
  StatusObject,
  UntypedServiceImplementation as ServiceHandlers,
  sendUnaryData as UnaryCallback,
} from '@grpc/grpc-js';

export type Resolver = experimental.Resolver;
export type ResolverListener = experimental.ResolverListener;
export type ConfigSelector = experimental.ConfigSelector;
export type CallConfig = ReturnType<experimental.ConfigSelector['invoke']>;
export type MethodConfig = CallConfig['methodConfig'];
export type GrpcUri = experimental.GrpcUri;
export type LoadBalancer = experimental.LoadBalancer;
export type LbHelper = experimental.ChannelControlHelper;
export type TypedLoadBalancingConfig = experimental.TypedLoadBalancingConfig;
export type Picker = experimental.Picker;
export type PickArgs = experimental.PickArgs;
export type PickResult = experimental.PickResult;
export type GrpcEndpoint = experimental.Endpoint;
export type SubchannelAddress = experimental.SubchannelAddress;
export type Subchannel = experimental.SubchannelInterface;
export type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>;
export type StatusOr<T> = experimental.StatusOr<T>;
export type CertificateProvider = experimental.CertificateProvider;
export type FilterFactory = CallConfig['dynamicFilterFactories'][number];
export type Filter = ReturnType<FilterFactory['createFilter']>;

export const {
  BaseSubchannelWrapper,
  CHANNEL_ARGS_CONFIG_SELECTOR_KEY,
  ChildLoadBalancerHandler,
  LeafLoadBalancer,
  PickResultType,
  QueuePicker,
  SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX,
  UnavailablePicker,
  createChildChannelControlHelper,
  createResolver,
  createServerCredentialsWithInterceptors,
  isLoadBalancerNameRegistered,
  log,
  parseLoadBalancingConfig,
  registerAdminService,
  registerLoadBalancerType,
  registerResolver,
  splitHostPort,
  statusOrFromError,
  statusOrFromValue,
  subchannelAddressToString,
  trace,
  uriToString,
} = experimental;

export type LeafLoadBalancer = experimental.LeafLoadBalancer;

/** Converts an object to pick information. grpc-js passes the object to pickers unchanged. */
export function toPickInformation(attributes: object): CallConfig['pickInformation'] {
  // eslint-disable-next-line no-restricted-syntax -- grpc-js's type is narrower than what it does
  return attributes as CallConfig['pickInformation'];
}
