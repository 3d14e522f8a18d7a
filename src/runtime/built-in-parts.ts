import { CallCredentialsRegistry } from '../credentials/call-creds-registry';
import { builtInChannelCredentials } from '../credentials/channel-creds-registry';
import { createJwtTokenFileType } from '../credentials/jwt-token-file-type';
import { ManagementCredentials } from '../credentials/management-credentials';
import { processChannelCredentials } from '../credentials/register-channel-credentials';
import { createCompositeFilter } from '../http-filters/composite/composite-filter';
import { createFaultFilter } from '../http-filters/fault/fault-filter';
import { processHttpFilters } from '../http-filters/register-http-filter';
import { createStatefulSessionFilter } from '../http-filters/stateful-session/stateful-session-filter';
import type { PolicyEnvironment } from '../lb/create-policy-registry';

/** Adds every type of credentials of this package. Those of the application stay in force. */
export function createCredentials(environment: PolicyEnvironment): ManagementCredentials {
  const channel = processChannelCredentials;
  for (const type of builtInChannelCredentials(environment)) channel.registerDefault(type);
  const { bootstrapCallCreds } = environment.flags;
  const callTypes = bootstrapCallCreds ? [createJwtTokenFileType(environment)] : [];
  return new ManagementCredentials({ channel, call: new CallCredentialsRegistry(callTypes) });
}

/** Adds every HTTP filter of this package. Those of the application stay in force. */
export function addHttpFilters({ flags, clock, random, logger }: PolicyEnvironment): void {
  const filters = processHttpFilters;
  if (flags.faultInjection) filters.registerDefault(createFaultFilter({ clock, random }));
  if (flags.overrideHost) filters.registerDefault(createStatefulSessionFilter({ logger }));
  if (flags.compositeFilter) filters.registerDefault(createCompositeFilter({ filters, random }));
}
