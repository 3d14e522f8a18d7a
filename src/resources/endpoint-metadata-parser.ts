import type { Metadata } from '../generated/envoy/config/core/v3/base';
import { noMetadata, sameMetadata, type EndpointMetadata } from './endpoint-metadata';
import { structToJson } from './shared/struct-json-parser';

/**
 * Reads the metadata of the endpoints of an assignment, one after the other. Those next to each other, often of the
 * same workload, share one object if theirs says the same.
 */
export class EndpointMetadataReader {
  private last = noMetadata;

  /** Takes whatever there is; nothing in it can be wrong. */
  read(message: Metadata | undefined): EndpointMetadata {
    if (message === undefined) return noMetadata;
    const { filterMetadata, typedFilterMetadata } = message;
    if (filterMetadata.size + typedFilterMetadata.size === 0) return noMetadata;
    const metadata: EndpointMetadata = {
      filterMetadata: new Map(
        [...filterMetadata].map(([name, struct]) => [name, structToJson(struct)]),
      ),
      typedFilterMetadata: new Map(
        // Copied, so as not to keep the whole response.
        [...typedFilterMetadata].map(([name, { typeUrl, value }]) => [
          name,
          { typeUrl, value: Uint8Array.from(value) },
        ]),
      ),
    };
    if (!sameMetadata(this.last, metadata)) this.last = metadata;
    return this.last;
  }
}
