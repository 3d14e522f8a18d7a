import type { ChannelOptions, Metadata } from '.';

let hostVersion: string | undefined;

/**
 * Returns the `user-agent` header that grpc-js sends on a channel with these options in place of the application's.
 * See the constructor of `Http2Transport`:
 * https://github.com/grpc/grpc-node/blob/%40grpc/grpc-js%401.14.0/packages/grpc-js/src/transport.ts
 */
export function userAgentOf(options: ChannelOptions): string {
  hostVersion ??= readHostVersion();
  return [
    options['grpc.primary_user_agent'],
    `grpc-node-js/${hostVersion}`,
    options['grpc.secondary_user_agent'],
  ]
    .filter(Boolean)
    .join(' ');
}

/** Returns a copy of the headers with this user agent. */
export function withUserAgent(headers: Metadata, userAgent: string): Metadata {
  const copy = headers.clone();
  copy.set('user-agent', userAgent);
  return copy;
}

function readHostVersion(): string {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- read only where routes go by the user agent
  const manifest: unknown = require('@grpc/grpc-js/package.json');
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) {
    return String(manifest.version);
  }
  return '';
}
