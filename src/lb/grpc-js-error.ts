const EMPTY_NOTE = '. Resolution note: ';

/**
 * An error of grpc-js's pick_first without the resolution note. It is given none to add, because it would
 * keep it for as long as it tries the same addresses; the policy above adds the one that is current.
 */
export function withoutResolutionNote(errorMessage: string): string {
  return errorMessage.endsWith(EMPTY_NOTE)
    ? errorMessage.slice(0, -EMPTY_NOTE.length)
    : errorMessage;
}
