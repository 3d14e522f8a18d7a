// ESLint rule: a test waits for the promises of functions whose declaration says that they return one: those of the file, and of the
// files that it imports. It needs no types, which take minutes for all tests.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** How functions and methods are declared that return promises: with `async`, or with the type. */
const DECLARATIONS = [
  /\basync (?:function )?\*?(\w+)\s*(?:<[^>]*>)?\(/g,
  /\b(\w+)\s*(?:<[^>]*>)?\([^(){}]*\): Promise</g,
  /\bconst (\w+)(?:: [^=]*)? = async\b/g,
  /\b(\w+) = async\b/g,
];
/** How others are declared: of the same name as an imported one, it is the one of the file. */
const OTHERS =
  /(?:\bconst |(?<!async )\bfunction |^\s+(?:override )?)(\w+)(?: = (?!async)|\([^(){}]*\)(?:: void)? \{)/gm;

const known = new Map();

function namesIn(text) {
  const all = DECLARATIONS.flatMap((pattern) => [...text.matchAll(pattern)]);
  const promising = new Set(all.map(([, name]) => name));
  return { promising, others: new Set([...text.matchAll(OTHERS)].map(([, name]) => name)) };
}

function namesOf(path) {
  if (!known.has(path))
    known.set(path, existsSync(path) ? namesIn(readFileSync(path, 'utf8')) : namesIn(''));
  return known.get(path);
}

/** The name of a called function, or of a method of the same object: of other methods, a name says nothing about the class. */
const calledName = ({ callee }) =>
  callee.object?.type === 'ThisExpression' ? callee.property.name : callee.name;

/** Whether a chain such as `expect(x).rejects.toThrow()` waits for a promise. */
function isExpectation({ callee }) {
  for (let at = callee; at?.type === 'MemberExpression'; at = at.object) {
    if (['rejects', 'resolves'].includes(at.property.name)) return true;
  }
  return false;
}

export const awaitedPromises = {
  meta: {
    type: 'problem',
    docs: { description: 'require tests to wait for promises' },
    schema: [],
    messages: {
      floating: 'Wait for it by `await`, or say by `void` that nothing does.',
      loop: 'forEach waits for nothing: use a loop.',
    },
  },
  create(context) {
    const own = namesIn(context.sourceCode.text);
    const imported = [];
    const returnsPromise = (name) =>
      !own.others.has(name) && [own, ...imported].some(({ promising }) => promising.has(name));
    return {
      ImportDeclaration({ source }) {
        if (!source.value.startsWith('.')) return;
        imported.push(namesOf(join(dirname(context.filename), `${source.value}.ts`)));
      },
      'ExpressionStatement > CallExpression'(node) {
        if (isExpectation(node) || returnsPromise(calledName(node))) {
          context.report({ node, messageId: 'floating' });
        }
      },
      'CallExpression[callee.property.name="forEach"] > ArrowFunctionExpression[async=true]'(node) {
        context.report({ node, messageId: 'loop' });
      },
    };
  },
};
