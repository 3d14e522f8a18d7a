import { isIP } from 'node:net';

/** An IP address and a port. */
export interface IpPort {
  readonly address: string;
  readonly port: number;
}

const IP_PORT = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/;

/** Parses `IP:port`, with brackets around an IPv6 address; `undefined` for another text, and for port 0. */
export function parseIpPort(text: string): IpPort | undefined {
  const [, ipv6, ipv4 = '', digits] = IP_PORT.exec(text) ?? [];
  const address = ipv6 ?? ipv4;
  const port = Number(digits);
  const isAddress = isIP(address) === (ipv6 === undefined ? 4 : 6);
  return isAddress && port >= 1 && port <= 65_535 ? { address, port } : undefined;
}
