import type { Metadata } from '@grpc/grpc-js';
import { mergeLoads, type CallLoad } from './backend-load';

const KEY = 'grpc_xds_call_load';

/** What the handler of one call has recorded. */
export class CallRecorder {
  /** `undefined` if nothing was recorded. */
  load: CallLoad | undefined;

  /** Makes the recorder of the call with these headers. */
  static attach(headers: Metadata): CallRecorder {
    const recorder = new CallRecorder();
    headers.setOpaque(KEY, recorder);
    return recorder;
  }
}

/**
 * Adds to what the server reports with a call when it ends (gRFC A51). To be called from its handler. What a later call of
 * this function says replaces what an earlier one did; what is not mentioned stays, or is that of the whole server.
 *
 * @param call What the handler was given.
 * @returns `false` if the server has no `OrcaReporter.interceptor`, and so does not report.
 */
export function recordCallLoad(call: { readonly metadata: Metadata }, load: CallLoad): boolean {
  const recorder = call.metadata.getOpaque(KEY);
  if (!(recorder instanceof CallRecorder)) return false;
  recorder.load = recorder.load === undefined ? load : mergeLoads(recorder.load, load);
  return true;
}
