// ESLint rule: what a public function throws is an XdsError, whose code is documented (XdsErrorCode).

const PLAIN = /^(?:Error|TypeError|RangeError|SyntaxError|AggregateError)$/;

/** The files whose errors do not leave the package, or are bugs of it, and who catches them. */
export const plainErrors = {
  'src/{dependency-manager,lb,resolver,security,transport,xds-client}/**/*.ts':
    'the status of a call, a NACK, a handshake or the log',
  'src/wire/**/*.ts': 'parsers, which make violations of them',
  'src/bootstrap/load-bootstrap.ts': 'itself: the bootstrap cannot be read',
  'src/grpc-js/{connect-time,host-call,host-callbacks,subchannel-wrappers}.ts': 'grpc-js',
  'src/http-filters/{call-filter-chain,define-http-filter,http-filter,registry}.ts':
    'the call, which ends with INTERNAL',
  'src/http-filters/ext-authz/ext-authz-server-filter.ts':
    'the filter chain, which refuses the request with INTERNAL',
  'src/authorization/{evaluated-request,request}.ts': 'the engine, which denies the request',
  'src/server/connections/server-connection.ts': 'the engine, which denies the request',
  'src/testing/{fake-lb-host,lb-harness}.ts': 'the runner of the tests',
  'src/util/{bounded-json,contained,file-watch,read-budget,replace-file,unix-socket}.ts':
    'their callers, which add what is read or written',
  'src/util/{errors,hashes}.ts': 'nobody: a bug',
  'packages/cli/src/**/*.ts': 'the program, which prints them',
  'packages/kubernetes/src/{api,status,translate}/**/*.ts': 'the watch, which logs them',
  'packages/kubernetes/src/saved-objects.ts': 'itself: the file cannot be written',
  'packages/page/src/process/client-page.ts': 'the page, which shows them',
  'packages/relay/src/{claimed-path,relay-upstream,upstreams}.ts': 'RelayServer.start()',
  'packages/relay/src/share/private-folder.ts': 'the election, which logs them',
};

export const codedErrors = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      plain:
        'Throw an XdsError, or list the file in scripts/eslint/coded-errors.mjs with what catches the error.',
    },
  },
  create(context) {
    const report = (node) => context.report({ node, messageId: 'plain' });
    return {
      NewExpression(node) {
        if (PLAIN.test(node.callee.name)) report(node);
      },
      ClassDeclaration(node) {
        if (PLAIN.test(node.superClass?.name)) report(node);
      },
    };
  },
};
