import { SecureContexts } from '../contexts/secure-contexts';
import { tlsOptions } from '../contexts/tls-options';

/** The TLS contexts of the connections of clients of this process. */
export const clientContexts = new SecureContexts(tlsOptions);
