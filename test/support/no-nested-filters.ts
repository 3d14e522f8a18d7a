import type { NestedFilterParser } from '../../src/http-filters/http-filter';

/** For filters that have none inside. */
export const noNested: NestedFilterParser = {
  depth: 1,
  server: undefined,
  isSupported: () => false,
  isTerminal: () => false,
  parseConfig: (_config, violations) => violations.add('no filter can be nested'),
};
