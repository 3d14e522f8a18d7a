/** The kind of an {@link XdsError}. Texts of errors may change in any release; codes do not. */
export type XdsErrorCode =
  /** An argument, an option or a member of a definition is missing, unknown or invalid. The text names the function, the path and what is allowed. */
  | 'XDS_OPTION_INVALID'
  /** An earlier call of `register()` set another value of an option. Set each option in one place. */
  | 'XDS_OPTION_CONFLICT'
  /** `register({ requireBootstrap: true })` or a relay found no bootstrap. Set `GRPC_XDS_BOOTSTRAP`. */
  | 'XDS_BOOTSTRAP_MISSING'
  /** The bootstrap cannot be read, or is invalid. The text lists every fault with its path. */
  | 'XDS_BOOTSTRAP_INVALID'
  /** `ready()` was called without `register()`. Call `register()` of the same copy of the package first. */
  | 'XDS_NOT_REGISTERED'
  /** The deadline of `ready()` has passed, or its channel is closed. The text after the colon is the status that a call would get. */
  | 'XDS_NOT_READY'
  /** The call is not possible in this state, such as starting a server twice. Correct the order of the calls. */
  | 'XDS_STATE_INVALID'
  /** `@grpc/grpc-js` lacks something that this package needs. Install the version that the text names. */
  | 'XDS_GRPC_JS_UNSUPPORTED'
  /** Another copy of this package serves the `xds:` targets of the process. Install one copy. */
  | 'XDS_COPY_CONFLICT'
  /** An optional package is not installed. Run the command in the text. */
  | 'XDS_PACKAGE_MISSING'
  /** A file of resources or an authorization policy cannot be read. Check its path and permissions. */
  | 'XDS_FILE_UNREADABLE'
  /** A resource of a snapshot, a file or an object is invalid. `problems`, or the text, lists what to correct. */
  | 'XDS_RESOURCE_INVALID'
  /** A snapshot refers to resources that it does not contain. Add them, or set `allowInconsistent`. */
  | 'XDS_SNAPSHOT_INCONSISTENT'
  /** An authorization policy is invalid. The text names the field. */
  | 'XDS_POLICY_INVALID'
  /** A control plane, a relay or a page cannot listen on its address. `cause` is the error of the system. */
  | 'XDS_LISTEN_FAILED'
  /** An `XdsServer` does not serve an address: the error of the callback of `bindAsync()` and of `onServingState`. */
  | 'XDS_NOT_SERVED'
  /** An HTTP filter ended the call: the code of `CallFailedError`, which filters throw. */
  | 'XDS_CALL_FAILED'
  /** There is no usable kubeconfig, or `@kubernetes/client-node` is not installed. */
  | 'XDS_KUBERNETES_UNAVAILABLE';

const RULE =
  'of new XdsError() must be a string: a code such as "XDS_OPTION_INVALID", then a message';

const isText = (value: unknown) => typeof value === 'string';

/**
 * The error that functions of this package and its companions throw or reject with. Its text begins with `grpc-xds: `, except in a
 * subclass: there it is the status of a call, or lists what is wrong with resources.
 */
export class XdsError extends Error {
  override readonly name: string = 'XdsError';
  readonly code: XdsErrorCode;

  /** @throws XdsError if the code or the message is none. */
  constructor(code: XdsErrorCode, message: string, options?: ErrorOptions) {
    const isCode = isText(code) && code.startsWith('XDS_');
    if (!isCode || !isText(message))
      throw new XdsError('XDS_OPTION_INVALID', `${isCode ? 'message' : 'code'} ${RULE}`);
    super(new.target === XdsError ? `grpc-xds: ${message}` : message, options);
    this.code = code;
  }
}
