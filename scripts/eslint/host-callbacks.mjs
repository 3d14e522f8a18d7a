// ESLint rule: what grpc-js calls is made by the functions of src/grpc-js, which complete what it hands over and contain
// exceptions (docs/decisions/process.md). A function or class whose type grpc-js declares is one that it calls, wherever it is passed on.

const HOST = /\/node_modules\/@grpc\/grpc-js\/|\/src\/grpc-js\/handed-over\.ts$/;
const CONTAINING = /\/src\/(?:grpc-js\/|util\/contained\.ts$)/;
const LISTEN = /^(?:on|once|addListener|prependListener|prependOnceListener)$/;

/** The types of grpc-js, or members of them, whose exceptions end elsewhere, and where. */
const CONTAINED_TYPES = {
  'Client.makeUnaryRequest.deserialize': 'grpc-js, which fails the call',
  'Client.makeUnaryRequest.serialize': 'grpc-js, which fails the call',
  'ChannelControlHelper.addChannelzChild': 'the policy that calls it',
  'ChannelControlHelper.createSubchannel': 'the policy that calls it',
  'ChannelControlHelper.removeChannelzChild': 'the policy that calls it',
  'Subchannel.createCall': 'grpc-js, which fails the call',
  BaseSubchannelWrapper: 'the policy that calls it',
  CallConfig: 'containedSelector(), and ContainedFilter',
  CallCredentials: 'grpc-js, which fails the call',
  CallMetadataGenerator: 'grpc-js, which fails the call',
  CertificateProvider: 'the credentials that use it',
  ChannelCredentials: 'the application, or ForwardingConnector',
  GetHandlers: 'the application, which adds the services',
  GetServiceDefinition: 'the application, which adds the services',
  Metadata: 'the filter that calls it',
  OnCallEnded: 'ContainedPicker',
  PickResult: 'ContainedPicker',
  Picker: 'ContainedPicker',
  SecureConnector: 'grpc-js, which fails the attempt to connect',
  Server: 'the application',
  ServerCredentials: 'the application',
  TypedLoadBalancingConfig: 'containedBalancer()',
};

/** The files that make what grpc-js calls themselves, and what contains it. */
export const containedFiles = {
  'src/dependency-manager/host-dns-watch.ts': 'contained()',
  'src/lb/grpc-js-policy/balancer.ts': 'GrpcJsChild',
  'src/lb/pick-first/balancer.ts': 'GrpcJsChild',
  'src/lb/priority/child.ts': 'the policy that calls it',
  'src/lb/tree/grpc-js-root.ts': 'containedBalancer()',
  'src/resolver/config-selector.ts': 'containedSelector()',
  'src/resolver/other-scheme.ts': 'containedResolver()',
  'src/resolver/xds-resolver.ts': 'containedResolver()',
  'src/server/connections/listener-snapshot.ts': 'none: it does nothing',
  'src/server/connections/server-connection.ts': 'itself, by failCall()',
  'src/server/xds-server.ts': 'the application, whose callback it is',
  'src/transport/grpc-stream.ts': 'itself',
  'src/transport/rest/http-client.ts': 'the provider of the certificates',
};

const isIn = (files, declarations = []) =>
  declarations.some((each) => files.test(each.getSourceFile().fileName));

const typesIn = (type) => (type?.isUnionOrIntersection() ? type.types : type ? [type] : []);

/** Returns the name of a function of grpc-js: that of its type, of its member, and of the parameter of the member. */
function nameOf(declaration) {
  const path = [];
  for (let node = declaration; node.parent !== undefined; node = node.parent) {
    if (node.name?.text !== undefined) path.unshift(node.name.text);
  }
  return path.join('.');
}

function isContained(declaration) {
  const name = nameOf(declaration);
  const [type, , parameter] = name.split('.');
  return name in CONTAINED_TYPES || (parameter === undefined && type in CONTAINED_TYPES);
}

/** Returns the declarations of the functions that a type consists of. */
const functionsOf = (type) =>
  typesIn(type).flatMap((each) =>
    each.getCallSignatures().flatMap(({ declaration }) => declaration ?? []),
  );

export const hostCallbacks = {
  meta: {
    type: 'problem',
    docs: { description: 'require src/grpc-js around what grpc-js calls' },
    schema: [],
    messages: {
      made: 'grpc-js calls this {{type}}: make it with a function or class of src/grpc-js.',
      event: 'Listen to a call with onCallEvent().',
    },
  },
  create(context) {
    const services = context.sourceCode.parserServices;
    const checker = services.program.getTypeChecker();
    const tsNodeOf = (node) => services.esTreeNodeToTSNodeMap.get(node);

    const report = (node, declarations = []) => {
      const found = declarations.find((each) => isIn(HOST, [each]) && !isContained(each));
      if (found !== undefined) {
        context.report({ node, messageId: 'made', data: { type: nameOf(found) } });
      }
    };
    /** Returns the declaration of the function that a value is an argument of. */
    const receiverOf = ({ parent }) => {
      if (parent.type !== 'CallExpression' && parent.type !== 'NewExpression') return [];
      return [checker.getResolvedSignature(tsNodeOf(parent))?.declaration ?? []].flat();
    };
    /** Returns the declarations of the functions that are expected where a node stands. */
    const expectedAt = (node) => {
      const { parent } = node;
      if (!parent.method) {
        const expected = functionsOf(checker.getContextualType(tsNodeOf(node)));
        // Any function is: grpc-js has parameters with the type `Function`.
        return expected.length > 0 ? expected : receiverOf(node);
      }
      const object = checker.getContextualType(tsNodeOf(parent.parent));
      return typesIn(object).flatMap(
        (each) => each.getProperty(parent.key.name)?.declarations ?? [],
      );
    };
    const isGivenTo = (files, node) => isIn(files, receiverOf(node));
    /** Handles what has got its type before. */
    const checkValue = (node) => {
      const type = services.getTypeAtLocation(node);
      if (type.isClass()) {
        const classes = [type, ...checker.getBaseTypes(type)];
        const declarations = classes.flatMap(({ symbol }) => symbol.declarations);
        if (isIn(CONTAINING, declarations) || !isGivenTo(HOST, node)) return;
        report(node, checker.getContextualType(tsNodeOf(node))?.symbol?.declarations);
        return;
      }
      const functions = functionsOf(type);
      if (functions.length === 0 || isIn(CONTAINING, functions) || isIn(HOST, functions)) return;
      report(node, expectedAt(node));
    };

    return {
      ':matches(ArrowFunctionExpression, FunctionExpression)'(node) {
        if (node.parent.type === 'MethodDefinition' || isGivenTo(CONTAINING, node)) return;
        report(node, expectedAt(node));
      },
      ':matches(CallExpression, NewExpression) > :matches(Identifier, MemberExpression, CallExpression, NewExpression).arguments':
        checkValue,
      'ObjectExpression > Property > :matches(Identifier, MemberExpression, CallExpression, NewExpression).value':
        checkValue,
      ':matches(ClassDeclaration, ClassExpression)'({ implements: interfaces, superClass }) {
        const bases = [...interfaces.map(({ expression }) => expression), superClass ?? []].flat();
        for (const node of bases) {
          report(node, services.getTypeAtLocation(node).symbol?.declarations);
        }
      },
      'CallExpression > MemberExpression.callee'({ object, property }) {
        if (!LISTEN.test(property.name)) return;
        const types = typesIn(services.getTypeAtLocation(object));
        if (types.some(({ symbol }) => isIn(HOST, symbol?.declarations))) {
          context.report({ node: property, messageId: 'event' });
        }
      },
    };
  },
};
