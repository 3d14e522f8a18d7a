import type { Refusal } from '../../authorization/refusal';
import { Metadata, type StatusObject } from '../../grpc-js';
import type { RegexCompilers } from '../../resources/extension-points';
import { lazy } from '../../util/lazy';
import { CallFailedError, type CallFilter } from '../call-filter';
import type { CallFilterFactory, ClientFilter, FilterCall } from '../client-filter';
import { asConfig } from '../http-filter';
import type { ServerHttpFilter } from '../server-filter';
import { AuthorizedCall, type CheckEnvironment, type Outcome } from './authorized-call';
import type * as ServerSide from './ext-authz-server-filter';
import type { ServerEnvironment } from './ext-authz-server-filter';
import {
  EXT_AUTHZ,
  EXT_AUTHZ_PER_ROUTE,
  ExtAuthzConfig,
  parseExtAuthzConfig,
  parseExtAuthzOverride,
  type ExtAuthzSettings,
} from './ext-authz-parser';

/** Loaded on servers only. */
const loadServerSide = lazy<typeof ServerSide>(() => require('./ext-authz-server-filter'));

interface ExtAuthzOptions extends ServerEnvironment {
  readonly regexes: RegexCompilers;
}

/** Creates the filter that asks an authorization server whether a call is allowed (gRFC A92). */
export function createExtAuthzFilter(options: ExtAuthzOptions): ClientFilter & ServerHttpFilter {
  return {
    configTypes: [EXT_AUTHZ],
    overrideTypes: [EXT_AUTHZ_PER_ROUTE],
    isTerminal: false,
    parseConfig: (config, violations, { server }) =>
      parseExtAuthzConfig(config, options.regexes.forResource(), server, violations),
    parseOverride: parseExtAuthzOverride,
    retain: (config) => options.channels.retain(asConfig(ExtAuthzConfig, config).settings.service),
    prepare: (config) => createFactory(asConfig(ExtAuthzConfig, config).settings, options),
    createServerFilter(config, _override, instance) {
      const { settings } = asConfig(ExtAuthzConfig, config);
      return new (loadServerSide().ExtAuthzServerFilter)(settings, instance, options);
    },
  };
}

function createFactory(
  settings: ExtAuthzSettings,
  environment: CheckEnvironment,
): CallFilterFactory {
  const { service } = settings;
  return {
    create: (call, instance) => new AuthorizedClientCall(call, instance, settings, environment),
    // Without its credentials and headers.
    describe: () => ({
      ...settings,
      service: { target: service.target, timeoutMs: service.timeoutMs },
    }),
    retain: () => environment.channels.retain(service),
  };
}

/** The filter of one call of a client, which fails with the reason of the refusal. */
class AuthorizedClientCall implements CallFilter {
  onResponseHeaders?: (headers: Metadata) => Metadata;
  private readonly authorized: AuthorizedCall;

  constructor(
    call: FilterCall,
    instance: string,
    settings: ExtAuthzSettings,
    environment: CheckEnvironment,
  ) {
    const { method, routing } = call;
    const checked = {
      method,
      routing,
      startChild: (start: (deadlineMs: number) => void) => {
        if (routing === undefined) start(Infinity);
        else routing.startChild(start);
      },
      onResponseHeaders: (change: (headers: Metadata) => void) => {
        this.onResponseHeaders = (headers) => {
          change(headers);
          return headers;
        };
      },
      count: (outcome: Outcome) => routing?.count(`grpc.client_ext_authz.${outcome}_rpcs`),
    };
    this.authorized = new AuthorizedCall({ call: checked, instance, settings, environment });
  }

  onRequestHeaders(headers: Metadata): Metadata | Promise<Metadata> {
    const judgement = this.authorized.judge(headers);
    return judgement instanceof Promise
      ? judgement.then((refusal) => passOn(headers, refusal))
      : passOn(headers, judgement);
  }

  onStatus(status: StatusObject): StatusObject {
    this.authorized.end();
    return status;
  }
}

function passOn(headers: Metadata, refusal: Refusal | undefined): Metadata {
  if (refusal === undefined) return headers;
  const { code, reason: details, metadata = new Metadata() } = refusal;
  throw new CallFailedError({ code, details, metadata });
}
