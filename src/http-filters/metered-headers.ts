import type { Metadata } from '../grpc-js';
import { STEPS_PER_MATCHER } from '../resources/matching/string-matcher';
import type { FilterCall } from './http-filter';

/** The values of headers, each as it was added. */
export type HeaderValues = Pick<Metadata, 'get'>;

/**
 * Returns headers that count what a filter reads of them as steps of the call: a chain may have many filters that read one
 * long header.
 *
 * @returns headers whose `get` throws a `CallFailedError` if the call has no steps left.
 */
export function meteredHeaders(headers: Metadata, { routing }: FilterCall): HeaderValues {
  if (routing === undefined) return headers;
  return {
    get(name) {
      const values = headers.get(name);
      if (values.length === 0) return values;
      return routing.match((meter) => {
        let length = 0;
        for (const value of values) length += value.length;
        meter.spendText(STEPS_PER_MATCHER * values.length + length, name, length);
        return values;
      });
    },
  };
}
