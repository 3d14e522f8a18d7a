import { experimental } from '@grpc/grpc-js';
import { errorMessage } from '../util/errors';

/** The schemes of grpc-js and of this package. */
const KNOWN: ReadonlySet<string> = new Set(['dns', 'unix', 'unix-abstract', 'ipv4', 'ipv6', 'xds']);

/** Whether grpc-js has a resolver for a scheme: it does not say so, except by creating one. */
export function hasResolver(scheme: string): boolean {
  if (KNOWN.has(scheme)) return true;
  try {
    experimental.createResolver({ scheme, path: 'localhost:1' }, () => true, {}).destroy();
    return true;
  } catch (error) {
    return !errorMessage(error).startsWith('No resolver');
  }
}
