/** What the weights of one list may add up to (gRFCs A27, A28): they travel as unsigned 32-bit numbers. */
export const MAX_TOTAL_WEIGHT = 2 ** 32 - 1;
