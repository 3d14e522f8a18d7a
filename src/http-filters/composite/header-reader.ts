import type { Metadata } from '../../grpc-js';
import type { HeaderReader } from './matcher';

/** What a filter can know of a call besides its headers. */
const pseudoHeaders = new Set([':path', ':method']);

/** Whether a matcher may ask for the header. A client has decided on the others only when the call is sent. */
export function isReadable(headerName: string): boolean {
  return !headerName.startsWith(':') || pseudoHeaders.has(headerName);
}

/**
 * Reads the headers of a call as routing does (gRFC A28): repeated values joined, binary headers absent, and the
 * content type that will be added later already there.
 *
 * @param path Such as `/package.Service/Method`.
 */
export function createHeaderReader(path: string, headers: Metadata): HeaderReader {
  return (name) => {
    if (name === ':path') return path;
    if (name === ':method') return 'POST';
    if (name.endsWith('-bin')) return undefined;
    const values = headers.get(name);
    if (values.length > 0) return values.join(',');
    return name === 'content-type' ? 'application/grpc' : undefined;
  };
}
