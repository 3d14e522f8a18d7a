import { status } from '@grpc/grpc-js';

const HANDLERS = new Map([
  ['sleep', (plan, number) => ({ ...plan, sleepMs: plan.sleepMs + number * 1000 })],
  ['keep-open', (plan) => ({ ...plan, keepOpen: true })],
  ['error-code', (plan, number) => ({ ...plan, code: number })],
]);
const SUCCESS = /^succe(?:ed|ss)-on-retry-attempt-(\d+)$/;

const invalid = (item) => ({
  sleepMs: 0,
  keepOpen: false,
  code: status.INVALID_ARGUMENT,
  details: `rpc-behavior: "${item}" is not known`,
});

/**
 * Reads the headers `rpc-behavior`: lists with commas of `sleep-N` (seconds), `keep-open`, `error-code-N` and
 * `succeed-on-retry-attempt-N`, each for one server alone if it begins with `hostname=X `. They apply in order; an
 * attempt that is to succeed, or a status, ends the list.
 *
 * @param values The headers.
 * @param call.hostname What this server calls itself.
 * @param call.previousAttempts How often the call was tried before.
 */
export const planRpc = (values, { hostname, previousAttempts }) => {
  let plan = { sleepMs: 0, keepOpen: false, code: status.OK, details: '' };
  for (const item of values.flatMap((value) => String(value).split(','))) {
    const [, host, behavior] = /^(?:hostname=(\S+)\s+)?(.*)$/.exec(item.trim());
    if (behavior === '' || (host !== undefined && host !== hostname)) continue;
    const success = SUCCESS.exec(behavior);
    if (success !== null) {
      if (Number(success[1]) === previousAttempts) return plan;
      continue;
    }
    const [, name, number] = /^(.*?)(?:-(\d+))?$/.exec(behavior);
    const apply = HANDLERS.get(name);
    if (apply === undefined || (name !== 'keep-open') !== (number !== undefined))
      return invalid(item);
    plan = apply(plan, Number(number));
    if (plan.keepOpen) return plan;
    if (plan.code !== status.OK) return { ...plan, details: `asked for by rpc-behavior: ${item}` };
  }
  return plan;
};
