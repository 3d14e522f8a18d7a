import { cellText, createView, rowId, type View, type ViewRequest } from '../live-page/view';
import { toIso } from '../../../../src/util/since';
import type { ProcessEvent } from './events';

/** The notices of the application among the last events of the process, the newest first. */
export function noticeView(events: readonly ProcessEvent[], request: ViewRequest): View {
  const notices = events.filter(({ kind }) => kind === 'notice').reverse();
  return createView(notices, request, ({ atMs, subject, text, target }) => {
    const at = toIso(atMs);
    return {
      id: rowId(at, subject, text),
      at,
      subject: cellText(subject),
      text: cellText(text),
      target: target && cellText(target),
    };
  });
}
