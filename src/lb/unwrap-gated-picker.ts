import { Metadata } from '../grpc-js';
import type { Picker } from '../grpc-js';
import { GatedSubchannel } from '../grpc-js/gated-subchannel';

const ANY_CALL = { metadata: new Metadata(), extraPickInfo: {} };

/**
 * Creates the picker of a leaf from that of grpc-js's pick_first when READY, which picks the same for every call. Parent
 * policies look for their own subchannels in pick results.
 */
export function unwrapGatedPicker(picker: Picker): Picker {
  const picked = picker.pick(ANY_CALL);
  const { subchannel } = picked;
  if (!(subchannel instanceof GatedSubchannel)) return picker;
  const result = { ...picked, subchannel: subchannel.wrapped };
  return { pick: () => result };
}
