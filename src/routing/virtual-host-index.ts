import type { VirtualHost } from '../resources/route-config/route-config';
import { PrefixTree, type Positions } from './prefix-tree';

/**
 * Finds the virtual host of each request by its host name, by the rules of `findVirtualHost` (gRFC A27), in a time that does not
 * depend on the number of hosts and domains: for servers, whose requests may each have another host.
 */
export class VirtualHostIndex<Host> {
  private readonly exact = new Map<string, number>();
  /** The texts after the star, reversed. */
  private suffixes: PrefixTree | undefined = undefined;
  /** The texts before the star. */
  private prefixes: PrefixTree | undefined = undefined;
  private universal: number | undefined = undefined;

  /** @param hosts What is found, at the positions of the virtual hosts. */
  constructor(
    virtualHosts: readonly VirtualHost[],
    private readonly hosts: readonly Host[],
  ) {
    for (const [position, { domains }] of virtualHosts.entries()) {
      for (const domain of domains) this.add(domain.toLowerCase(), position);
    }
  }

  /** Finds the host whose domain matches a name best: exact, then by suffix, then by prefix, the longer first. */
  find(host: string): Host | undefined {
    const name = host.toLowerCase();
    const position =
      this.exact.get(name) ??
      // A star stands for at least one character.
      (this.suffixes && longest(this.suffixes, reverse(name).slice(0, -1))) ??
      (this.prefixes && longest(this.prefixes, name.slice(0, -1))) ??
      this.universal;
    return position === undefined ? undefined : this.hosts[position];
  }

  /** Of equal domains, that of the earlier host is found. */
  private add(domain: string, position: number): void {
    if (domain === '*') this.universal ??= position;
    else if (domain.startsWith('*')) {
      (this.suffixes ??= new PrefixTree()).add(reverse(domain.slice(1)), position);
    } else if (domain.endsWith('*')) {
      (this.prefixes ??= new PrefixTree()).add(domain.slice(0, -1), position);
    } else if (!this.exact.has(domain)) this.exact.set(domain, position);
  }
}

/** Returns the first position of the longest prefix of a text. */
function longest(tree: PrefixTree, text: string): number | undefined {
  let found: Positions | undefined;
  tree.visit(text, (positions) => {
    found = positions;
  });
  return typeof found === 'object' ? found[0] : found;
}

function reverse(text: string): string {
  return text.split('').reverse().join('');
}
