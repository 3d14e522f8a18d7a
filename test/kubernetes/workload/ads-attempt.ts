import { connect, type IncomingHttpHeaders, type IncomingHttpStatusHeader } from 'node:http2';

/** A connection to a control plane with a token of its own. */
export interface AdsAttempt {
  readonly port: number;
  /** Certificates in PEM. */
  readonly ca: string;
  /** Default: none is sent. */
  readonly token?: string;
}

/** A message of gRPC without fields. */
const EMPTY_MESSAGE = Buffer.alloc(5);
const PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';

/**
 * Opens a discovery stream on a connection of its own, and closes both when it has ended or after some time.
 *
 * @returns the status, its code first, or what there was in that time instead.
 */
export function attemptAds({ port, ca, token }: AdsAttempt, waitMs: number): Promise<string> {
  return new Promise((resolve) => {
    const session = connect(`https://localhost:${port}`, { ca });
    let result = 'unconnected';
    const end = () => {
      clearTimeout(timer);
      session.destroy();
      resolve(result);
    };
    const timer = setTimeout(end, waitMs);
    session.on('connect', () => (result = 'unanswered'));
    session.on('error', (error) => (result = error.message));
    const stream = session.request({
      ':method': 'POST',
      ':path': PATH,
      te: 'trailers',
      'content-type': 'application/grpc',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    });
    const onHeaders = (headers: IncomingHttpHeaders & IncomingHttpStatusHeader) => {
      const [code, text = ''] = [headers['grpc-status'], headers['grpc-message']].map(String);
      if (code !== 'undefined') result = `${code} ${decodeURIComponent(text)}`;
    };
    stream.on('response', onHeaders);
    stream.on('trailers', onHeaders);
    stream.on('error', () => undefined);
    stream.on('close', end);
    stream.write(EMPTY_MESSAGE);
  });
}
