package interop;

import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** The service grpc.testing.TestService with its unary methods, which name the server in their headers. */
final class TestService {
  private static final Metadata.Key<String> HOSTNAME =
      Metadata.Key.of("hostname", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> BEHAVIOR =
      Metadata.Key.of("rpc-behavior", Metadata.ASCII_STRING_MARSHALLER);
  private static final String SLEEP = "sleep-";

  private TestService() {}

  /**
   * Creates the service.
   *
   * @param onCall is given the address of the client of each call.
   */
  static ServerServiceDefinition create(String name, Consumer<SocketAddress> onCall) {
    ServerCallHandler<byte[], byte[]> handler = answering(name, onCall);
    return ServerServiceDefinition.builder("grpc.testing.TestService")
        .addMethod(method("UnaryCall"), handler)
        .addMethod(method("EmptyCall"), handler)
        .build();
  }

  private static MethodDescriptor<byte[], byte[]> method(String name) {
    return MethodDescriptor.newBuilder(Client.BYTES, Client.BYTES)
        .setType(MethodDescriptor.MethodType.UNARY)
        .setFullMethodName("grpc.testing.TestService/" + name)
        .build();
  }

  private static ServerCallHandler<byte[], byte[]> answering(
      String name, Consumer<SocketAddress> onCall) {
    return (call, headers) -> {
      onCall.accept(call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR));
      call.request(2);
      return new ServerCall.Listener<>() {
        @Override
        public void onHalfClose() {
          sleep(headers);
          Metadata named = new Metadata();
          named.put(HOSTNAME, name);
          call.sendHeaders(named);
          call.sendMessage(new byte[0]);
          call.close(Status.OK, new Metadata());
        }
      };
    };
  }

  /** Calls with the header "rpc-behavior: sleep-N" are answered after N seconds. */
  private static void sleep(Metadata headers) {
    String behavior = headers.get(BEHAVIOR);
    if (behavior == null || !behavior.startsWith(SLEEP)) {
      return;
    }
    try {
      TimeUnit.SECONDS.sleep(Long.parseLong(behavior.substring(SLEEP.length())));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
