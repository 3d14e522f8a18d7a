import type { Filter, FilterFactory } from './index';

/** What a filter does besides handing everything on. */
export type FilterParts = Partial<Filter>;

const handOn = <T>(value: T): T => value;

/**
 * A filter of the host library that does only what it is given to do. What it leaves out is handed on as it
 * is, without the promise that the host's own base filter puts around every message.
 */
function createFilter(parts: FilterParts): Filter {
  return {
    sendMetadata: handOn,
    receiveMetadata: handOn,
    sendMessage: handOn,
    receiveMessage: handOn,
    receiveTrailers: handOn,
    ...parts,
  };
}

/** A factory for the filters of one call. */
export function createFilterFactory(create: () => FilterParts): FilterFactory {
  return { createFilter: () => createFilter(create()) };
}
