import type { ConnectionSource } from '../../resources/listener/listener';

/**
 * Returns where a connection comes from (gRFC A36).
 *
 * @param remote The bytes of the remote address; `undefined` if it is none of IP.
 * @param local The same of the local one.
 */
export function sourceOf(
  remote: Uint8Array | undefined,
  local: Uint8Array | undefined,
): Exclude<ConnectionSource, 'any'> {
  if (remote === undefined) return 'external';
  if (isLoopback(remote)) return 'same-ip-or-loopback';
  const isSame = local !== undefined && Buffer.compare(remote, local) === 0;
  return isSame ? 'same-ip-or-loopback' : 'external';
}

/** Whether an address is in 127.0.0.0/8, or is `::1`. */
function isLoopback(bytes: Uint8Array): boolean {
  if (bytes.length === 4) return bytes[0] === 127;
  return bytes.every((byte, i) => byte === (i === bytes.length - 1 ? 1 : 0));
}
