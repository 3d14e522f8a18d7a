import { toAuthority } from '../../bootstrap/percent-encoding';
import { Status, type Subchannel } from '../../grpc-js';
import { FailedCall } from '../../grpc-js/failed-call';
import type { InterceptedSubchannel } from '../../grpc-js/subchannel-wrappers';
import { checkAuthority } from '../../security/client/connection-security';
import type { AuthorityRewrite } from '../call-attributes';
import { AddressIndex } from '../endpoints/endpoint-index';
import type { EndpointSet } from '../endpoints/endpoint-set';

/** The longest authority that is sent. With headers beyond its own limit, a server closes the connection. */
const MAX_LENGTH = 1024;

/** Rewrites the authority of calls to one cluster (gRFCs A81, A111). Its index exists once a route needs hostnames. */
export class AuthorityRewriter {
  private index: AddressIndex | undefined;
  private endpoints: EndpointSet | undefined;

  /** Sets the endpoints of the cluster. They are indexed when a call needs a hostname. */
  update(endpoints: EndpointSet): void {
    this.endpoints = endpoints;
  }

  /** Returns the subchannel to pick for a call whose route rewrites the authority. */
  rewrite(
    picked: InterceptedSubchannel,
    { authority, defaultAuthority }: AuthorityRewrite,
  ): Subchannel {
    const rewritten = authority === '' ? this.hostnameOf(picked) : authority;
    if (rewritten === '') return picked;
    return picked.withCreateCall((metadata, host, method, listener, callId) => {
      const connection = picked.getRealSubchannel();
      // Set by the application for this call.
      if (toAuthority(host) !== defaultAuthority) {
        return connection.createCall(metadata, host, method, listener, callId);
      }
      const details = checkRewrite(rewritten, picked.wrapped);
      return details === undefined
        ? connection.createCall(metadata, rewritten, method, listener, callId)
        : new FailedCall({ code: Status.UNAVAILABLE, details }, listener, callId);
    });
  }

  private hostnameOf(subchannel: Subchannel): string {
    const { endpoints } = this;
    if (endpoints === undefined) return '';
    this.index ??= new AddressIndex();
    const hostname = this.index.findIn(endpoints, subchannel.getAddress())?.hostname ?? '';
    return hostname.length > MAX_LENGTH ? hostname : toAuthority(hostname);
  }
}

/** @returns Why an authority must not be sent; `undefined` if it may. */
function checkRewrite(authority: string, subchannel: Subchannel): string | undefined {
  const { length } = authority;
  return length > MAX_LENGTH
    ? `the route changed the authority to one of ${length} characters: it may have ${MAX_LENGTH}`
    : checkAuthority(authority, subchannel);
}
