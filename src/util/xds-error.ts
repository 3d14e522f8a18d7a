/** What is wrong, for programs: the text of an error may change in any release, its code does not. `docs/errors.md` has a row for each. */
export type XdsErrorCode =
  /** An argument, an option or a member of a definition is missing, unknown or illegal. */
  | 'XDS_OPTION_INVALID'
  /** `register()` was called before with another value of an option. */
  | 'XDS_OPTION_CONFLICT'
  /** There is no bootstrap. */
  | 'XDS_BOOTSTRAP_MISSING'
  /** The bootstrap cannot be read, or is not valid. */
  | 'XDS_BOOTSTRAP_INVALID'
  /** `register()` has not been called. */
  | 'XDS_NOT_REGISTERED'
  /** Calls on a channel cannot be sent by the deadline of `ready()`. */
  | 'XDS_NOT_READY'
  /** What was called cannot be done now, such as to start what is started. */
  | 'XDS_STATE_INVALID'
  /** `@grpc/grpc-js` lacks something that this package needs. */
  | 'XDS_GRPC_JS_UNSUPPORTED'
  /** Another copy of this package serves the `xds:` targets of the process. */
  | 'XDS_COPY_CONFLICT'
  /** An optional package is not installed. */
  | 'XDS_PACKAGE_MISSING'
  /** A file cannot be read. */
  | 'XDS_FILE_UNREADABLE'
  /** A resource is not valid. */
  | 'XDS_RESOURCE_INVALID'
  /** A snapshot refers to resources that it does not have. */
  | 'XDS_SNAPSHOT_INCONSISTENT'
  /** An authorization policy is not valid. */
  | 'XDS_POLICY_INVALID'
  /** A server cannot listen on its address. */
  | 'XDS_LISTEN_FAILED'
  /** The control plane does not let an `XdsServer` serve an address. */
  | 'XDS_NOT_SERVED'
  /** A filter ends a call with a status. */
  | 'XDS_CALL_FAILED'
  /** There is no usable configuration of a Kubernetes cluster. */
  | 'XDS_KUBERNETES_UNAVAILABLE';

const RULE = 'must be a string: a code such as "XDS_OPTION_INVALID", then a message';

/**
 * Every error that a function of this package or its companions throws or rejects with. Its text begins with `grpc-xds: `; that of a
 * subclass is the status of a call, or lists what is wrong with resources.
 */
export class XdsError extends Error {
  override readonly name: string = 'XdsError';
  readonly code: XdsErrorCode;

  /** @throws XdsError if the code or the message is none. */
  constructor(code: XdsErrorCode, message: string, options?: ErrorOptions) {
    const isCode = String(code) === code && code.startsWith('XDS_');
    const wrong = !isCode ? 'code' : String(message) !== message ? 'message' : '';
    if (wrong !== '')
      throw new XdsError('XDS_OPTION_INVALID', `${wrong} of new XdsError() ${RULE}`);
    super(new.target === XdsError ? `grpc-xds: ${message}` : message, options);
    this.code = code;
  }
}
