/** The least HTTP status a fault may have. */
export const MIN_HTTP_STATUS = 200;
/** The greatest HTTP status a fault may have. */
export const MAX_HTTP_STATUS = 599;
