import { Status, type CallConfig } from '../grpc-js';
import { createFailingFilterFactory } from './failing-filter';

/** The config of a call that fails with UNAVAILABLE and a reason. */
export function failCall(details: string): CallConfig {
  return {
    methodConfig: { name: [] },
    pickInformation: {},
    status: Status.OK,
    dynamicFilterFactories: [createFailingFilterFactory(details)],
  };
}
