// `require` is for modules that are loaded lazily: it stands in a call of `lazy`, whose type argument is the module at the same
// path. The compiler does not know what `require` returns.

/** Returns the module that `typeof Name` is the type of, by the imports of a file. */
function importedAs(name, program) {
  const declaration = program.body.find(
    (node) =>
      node.type === 'ImportDeclaration' &&
      node.specifiers.some(
        ({ type, local }) => type === 'ImportNamespaceSpecifier' && local.name === name,
      ),
  );
  return declaration?.source.value;
}

const withoutIndex = (path) => path?.replace(/\/index$/, '');

/** Returns the call of `lazy` whose argument is a function that only returns the node. */
function lazyCallOf(node) {
  const load = node.parent;
  const call =
    load?.type === 'ArrowFunctionExpression' && load.body === node ? load.parent : undefined;
  return call?.type === 'CallExpression' && call.callee.name === 'lazy' ? call : undefined;
}

export const lazyModules = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      elsewhere:
        'Load a module with `import`, or lazily with `lazy<typeof Module>(() => require(…))`.',
      another: '`lazy` names another module than it loads.',
    },
  },
  create(context) {
    return {
      "CallExpression[callee.name='require']"(node) {
        const call = lazyCallOf(node);
        if (call === undefined) {
          context.report({ node, messageId: 'elsewhere' });
          return;
        }
        const [type] = call.typeArguments?.params ?? [];
        const name = type?.type === 'TSTypeQuery' ? type.exprName.name : undefined;
        const path = importedAs(name, context.sourceCode.ast);
        if (path === undefined || withoutIndex(path) !== withoutIndex(node.arguments[0]?.value)) {
          context.report({ node, messageId: 'another' });
        }
      },
    };
  },
};
