/** The label of methods that are not listed by name (gRFC A66). */
export const OTHER_METHOD = 'other';

/** Distinct methods of one `observe()` that are listed by name. */
export const MAX_METHODS = 500;

/** The values of the label `grpc.method`, which must not grow without bound. */
export class MethodLabels {
  private readonly known = new Set<string>();

  /** @param isListed Whether a method, such as `package.Service/Method`, is listed by name. */
  constructor(private readonly isListed: (method: string) => boolean) {}

  /** Returns the label of a method. @param path Such as `/package.Service/Method`. */
  of(path: string): string {
    const method = path.startsWith('/') ? path.slice(1) : path;
    if (this.known.has(method)) return method;
    if (this.known.size >= MAX_METHODS || !this.isListed(method)) return OTHER_METHOD;
    this.known.add(method);
    return method;
  }
}
