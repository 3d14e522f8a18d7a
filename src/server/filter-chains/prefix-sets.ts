import type { CidrRange } from '../../resources/shared/address-parser';
import { addTo, withChain, type ChainSet } from './chain-set';

/** The sets of ranges of one length, by the bits that their addresses have in common. */
interface PrefixLevel {
  readonly prefixLength: number;
  readonly sets: Map<string, ChainSet>;
}

/** Returns the bytes of an address; `undefined` for what is no address of IP. */
export type AddressReader = () => Uint8Array | undefined;

/** Filter chains by the ranges of addresses that they are for. A chain without ranges is for all addresses. */
export class PrefixSets {
  /** By the number of bytes of an address; the longest prefix first. */
  private readonly families = new Map<number, PrefixLevel[]>();
  /** The chains without ranges, which are less specific than those with any. */
  private unset: ChainSet | undefined = undefined;

  /** Adds a chain, whose position is not lower than those before. */
  add(position: number, ranges: readonly CidrRange[]): void {
    if (ranges.length === 0) this.unset = withChain(this.unset, position);
    for (const { bytes, prefixLength } of ranges) {
      const { sets } = this.levelOf(bytes.length, prefixLength);
      addTo(sets, prefixOf(textOf(bytes), prefixLength), position);
    }
  }

  /** Returns the sets of the ranges that an address is in, the most specific first. It is read only if there are ranges. */
  find(read: AddressReader): readonly (ChainSet | undefined)[] {
    if (this.families.size === 0) return [this.unset];
    const found: (ChainSet | undefined)[] = [];
    const address = read();
    const text = address === undefined ? '' : textOf(address);
    for (const { prefixLength, sets } of this.families.get(text.length) ?? []) {
      const set = sets.get(prefixOf(text, prefixLength));
      if (set !== undefined) found.push(set);
    }
    found.push(this.unset);
    return found;
  }

  private levelOf(family: number, prefixLength: number): PrefixLevel {
    const levels = this.families.get(family) ?? [];
    this.families.set(family, levels);
    const known = levels.find((level) => level.prefixLength === prefixLength);
    if (known !== undefined) return known;
    const level = { prefixLength, sets: new Map<string, ChainSet>() };
    levels.push(level);
    levels.sort((a, b) => b.prefixLength - a.prefixLength);
    return level;
  }
}

/** Returns a text with one character for each byte. */
function textOf(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

/** Returns the first bits of an address, as a text. Bits after them in its last character are 0. */
function prefixOf(text: string, bits: number): string {
  const whole = bits >> 3;
  const rest = bits & 7;
  if (rest === 0) return text.slice(0, whole);
  return (
    text.slice(0, whole) + String.fromCharCode(text.charCodeAt(whole) & (0xff00 >> rest) & 0xff)
  );
}
