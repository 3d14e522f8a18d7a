/** The version of this package; a test compares it with package.json. */
export const PACKAGE_VERSION = '0.1.0';

/** The supported versions of grpc-js; a test compares it with package.json. */
export const HOST_RANGE = '~1.14.0';
