import type { AuthorizationRequest } from '../../http-filters/rbac/request';
import type { Refusal } from '../../http-filters/server-filter';
import type { Clock } from '../../util/clock';
import type { Logger } from '../../util/logger';
import { quoteText } from '../../util/text';
import { CauseLog } from '../cause-log';

/** The environment of a {@link RefusalLog}. */
export interface RefusalLogOptions {
  /** Begins every message; ends in a space. */
  readonly subject: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Logs calls that are refused, by the policy that denies them: the caller is not told which one it is. */
export class RefusalLog {
  private readonly causes: CauseLog;

  constructor(private readonly options: RefusalLogOptions) {
    this.causes = new CauseLog(options.clock);
  }

  /** @param request With its path only if nothing else of it can be read. */
  report({ code, policy, reason }: Refusal, request: RefusedRequest): void {
    const { subject, logger } = this.options;
    // Not by the reason, which may have what a caller chooses.
    this.causes.report(`${code} ${policy ?? ''}`, (others) => {
      const more = others > 0 ? `; so were ${others} others since this was last logged` : '';
      logger.error(
        () => `${subject}call ${quoteText(request.path)}${from(request)} refused: ${reason}${more}`,
        { event: 'call-refused', error: reason },
      );
    });
  }
}

/** A request as far as it can be read. */
export type RefusedRequest = Pick<AuthorizationRequest, 'path'> & Partial<AuthorizationRequest>;

function from({ remote, tls }: RefusedRequest): string {
  if (remote === undefined) return '';
  const [id] = tls?.peer?.uriSans ?? [];
  return ` from ${remote.address}${id === undefined ? '' : ` (${id})`}`;
}
