import type * as Re2js from 're2js';
import { errorMessage } from '../../../../src/util/errors';
import { lazy } from '../../../../src/util/lazy';
import { estimatePatternSize } from '../../../../src/util/pattern-size';
import { cutText } from '../../../../src/util/text';
import type { Violations } from '../../../../src/util/violations';

// The engine takes longer to load than the rest of the control plane, and most routes have no expression.
const loadEngine = lazy<typeof Re2js>(() => require('re2js'));

/**
 * The size that all expressions of one route have together: less than what this client allows one expression (`maxRegexSize`), since
 * the parts of a path become one.
 */
const MAX_EXPRESSIONS_SIZE = 9_000;

const MAX_REASON_LENGTH = 160;

/** A group of flags, an escaped text, an escape, a class or a single character. */
const TOKEN =
  /\(\?[a-zA-Z-]+\)|\\Q[^]*?(?:\\E|$)|\\[^]|\[\^?\]?(?:\[:\^?\w+:\]|\\[^]|[^\]])*\]|[^]/y;
const FLAGS = /^\(\?[a-zA-Z-]+\)$/;
const START: readonly (string | undefined)[] = ['^', '\\A'];
const END: readonly (string | undefined)[] = ['$', '\\z'];

/**
 * Checks the RE2 expressions of one route. A client rejects a RouteConfiguration with an expression that is invalid or too large,
 * and with it the routes of everyone who calls the service.
 */
export class RouteExpressions {
  private size = 0;

  /** Checks an expression that the whole of a text has to match. @returns it; `undefined` after adding a violation. */
  check(expression: string, violations: Violations): string | undefined {
    return this.count(expression, violations) ? compile(expression, violations) : undefined;
  }

  /**
   * Checks an expression for a part of a path. Since the expression for the path has it in its middle, where `^` and `$` match
   * nothing, those around it are removed: the whole part has to match anyway.
   * @returns the expression without them; `undefined` after adding a violation.
   */
  checkPart(expression: string, violations: Violations): string | undefined {
    if (this.check(expression, violations) === undefined) return undefined;
    const tokens = tokensOf(expression);
    const start = tokens.findIndex((token) => !FLAGS.test(token));
    if (start === -1) return expression;
    const part = tokens.slice(start);
    while (START.includes(part[0])) part.shift();
    while (END.includes(part.at(-1))) part.pop();
    if (part.some((token) => START.includes(token) || END.includes(token))) {
      return violations.add('may have ^ and $ at its ends only: the whole text has to match');
    }
    // What is left need not be valid, such as of `^*`.
    return compile([...tokens.slice(0, start), ...part].join(''), violations);
  }

  private count(expression: string, violations: Violations): boolean {
    this.size += estimatePatternSize(expression);
    if (this.size <= MAX_EXPRESSIONS_SIZE) return true;
    violations.add(
      `the expressions of the route have a size of ${this.size}, and ${MAX_EXPRESSIONS_SIZE} is the limit`,
    );
    return false;
  }
}

/** @returns the expression; `undefined` after adding a violation. */
function compile(expression: string, violations: Violations): string | undefined {
  if (!isWellFormed(expression)) return violations.add('must be valid Unicode');
  try {
    loadEngine().RE2JS.compile(expression);
    return expression;
  } catch (error) {
    const reason = errorMessage(error).replace(/^error parsing regexp: /, '');
    return violations.add(`must be an RE2 expression: ${cutText(reason, MAX_REASON_LENGTH)}`);
  }
}

/** Whether a text can be sent: without halves of surrogate pairs. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** Splits a valid expression at its tokens, as far as `^` and `$` need that. */
function tokensOf(expression: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let [token] = TOKEN.exec(expression) ?? []; token !== undefined;) {
    tokens.push(token);
    [token] = TOKEN.exec(expression) ?? [];
  }
  return tokens;
}
