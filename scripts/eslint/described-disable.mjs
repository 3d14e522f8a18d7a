// ESLint rule: a comment that switches a rule off says why, after ` -- `, and names the rule.
export const describedDisable = {
  meta: {
    type: 'suggestion',
    docs: { description: 'require a rule name and a reason in eslint-disable comments' },
    schema: [],
    messages: {
      reason: 'Say why after " -- ": eslint-disable-next-line rule-name -- reason.',
      rule: 'Name the rule that is switched off.',
    },
  },
  create(context) {
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          const match = /^\s*eslint-disable(?:-next-line|-line)?(?=\s|$)([^]*)$/.exec(
            comment.value,
          );
          if (match === null) continue;
          const [rules = '', ...reason] = match[1].split(/\s-{2,}\s/);
          if (rules.trim() === '') context.report({ loc: comment.loc, messageId: 'rule' });
          if (reason.join('').trim() === '') {
            context.report({ loc: comment.loc, messageId: 'reason' });
          }
        }
      },
    };
  },
};
