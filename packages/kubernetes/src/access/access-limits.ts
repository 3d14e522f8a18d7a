/** Characters of a bearer token. */
export const MAX_TOKEN_LENGTH = 16 * 1024;
/** Tokens whose review is remembered, accepted and refused ones each. */
export const MAX_KNOWN_TOKENS = 10_000;
/** How long an accepted token is not reviewed again. It may be until its expiry if it cannot be reviewed. */
export const ACCEPTED_MS = 600_000;
/** How long a refused token is not reviewed again. */
export const REFUSED_MS = 10_000;
/** Reviews in progress. */
export const MAX_REVIEWS = 10;
/** Tokens that wait for a review, of all addresses and of one. */
export const MAX_WAITING_REVIEWS = 1000;
export const MAX_WAITING_REVIEWS_OF_ADDRESS = 200;
/** How long a review may take. */
export const REVIEW_TIMEOUT_MS = 5000;
/** Tokens of one address that may be refused by reviews at once, and the time after which one more may be. */
export const MAX_REFUSED_OF_ADDRESS = 10;
export const REFUSED_OF_ADDRESS_MS = 1000;
/** Addresses whose refused tokens are counted. */
export const MAX_ADDRESSES = 10_000;
