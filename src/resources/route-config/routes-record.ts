import { asBuffer } from '../../util/as-buffer';
import { isTrusted, type ParseContext } from '../extension-points';
import type { PieceField } from '../shared/any';
import { sliceMessage, type SlicedMessage } from '../wire/sliced-message';

/** The field of a route configuration with its virtual hosts. */
export const VIRTUAL_HOSTS: PieceField = { number: 2, name: 'virtual_hosts' };

/** The record of a route configuration, with which only the changes of its next version are decoded. */
export class RoutesRecord {
  private constructor(
    readonly slices: SlicedMessage,
    /** Whether the server is trusted, on which virtual hosts depend besides their bytes. */
    readonly isTrusted: boolean,
  ) {}

  /** @returns `undefined` if the virtual hosts are not contiguous in the bytes. */
  static create(bytes: Uint8Array, { server }: ParseContext): RoutesRecord | undefined {
    const slices = sliceMessage(asBuffer(bytes), VIRTUAL_HOSTS.number);
    return slices && new RoutesRecord(slices, isTrusted(server));
  }

  /** Returns the record of the next version. */
  next(slices: SlicedMessage): RoutesRecord {
    return new RoutesRecord(slices, this.isTrusted);
  }
}
