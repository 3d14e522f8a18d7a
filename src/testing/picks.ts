import { Metadata, PickResultType, toPickInformation } from '../grpc-js';
import type { Picker, PickResult } from '../grpc-js';

/** Asks the picker for one pick. `attributes` are the call's, as set by the config selector. */
export function pick(
  picker: Picker,
  attributes: object = {},
  metadata = new Metadata(),
): PickResult {
  return picker.pick({ metadata, extraPickInfo: toPickInformation(attributes) });
}

/** The address the picker chose; throws unless it chose one. */
export function pickAddress(picker: Picker, attributes: object = {}): string {
  const result = pick(picker, attributes);
  if (result.subchannel === null) throw new Error(`No subchannel picked: ${describePick(result)}`);
  return result.subchannel.getAddress();
}

/** The error text the picker fails calls with; throws if it does not. */
export function pickError(picker: Picker, attributes: object = {}): string {
  const result = pick(picker, attributes);
  if (result.status === null) throw new Error(`The pick did not fail: ${describePick(result)}`);
  return result.status.details;
}

/** `COMPLETE 10.0.0.1:80`, `QUEUE`, `TRANSIENT_FAILURE text` or `DROP text`. */
export function describePick(result: PickResult): string {
  const detail = result.subchannel?.getAddress() ?? result.status?.details ?? '';
  return `${PickResultType[result.pickResultType]} ${detail}`.trim();
}
