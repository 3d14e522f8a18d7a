// ESLint rule: an array is spread into arguments only if it is a rest parameter, which was arguments before. Every argument
// takes place on the stack, so that an array whose length comes from elsewhere can overflow it.
export const boundedArguments = {
  meta: {
    type: 'problem',
    docs: { description: 'forbid arguments of unbounded number' },
    schema: [],
    messages: {
      spread: 'The stack bounds the number of arguments: loop, reduce, or pass the array itself.',
      apply: 'The stack bounds the number of arguments: call the function with each of them named.',
    },
  },
  create(context) {
    const isRestParameter = (node) => {
      if (node.type !== 'Identifier') return false;
      for (let scope = context.sourceCode.getScope(node); scope !== null; scope = scope.upper) {
        const variable = scope.set.get(node.name);
        if (variable === undefined) continue;
        return variable.defs.some(
          ({ type, name }) => type === 'Parameter' && name.parent.type === 'RestElement',
        );
      }
      return false;
    };
    const isList = (node) =>
      node === undefined || node.type === 'ArrayExpression' || isRestParameter(node);
    return {
      ':matches(CallExpression, NewExpression) > SpreadElement.arguments'({ argument, parent }) {
        if (!isRestParameter(argument)) context.report({ node: parent, messageId: 'spread' });
      },
      // `f.apply(self, list)`, `Reflect.apply(f, self, list)` and `Reflect.construct(f, list)`.
      'CallExpression[callee.property.name=/^(apply|construct)$/]'(node) {
        const { object, property } = node.callee;
        const isReflect = object.name === 'Reflect';
        if (!isReflect && (property.name === 'construct' || object.type === 'ThisExpression')) {
          return;
        }
        const place = isReflect && property.name === 'apply' ? 2 : 1;
        if (!isList(node.arguments[place])) context.report({ node, messageId: 'apply' });
      },
    };
  },
};
