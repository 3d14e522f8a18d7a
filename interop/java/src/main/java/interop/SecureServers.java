package interop;

import com.google.gson.Gson;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.TlsServerCredentials;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Servers of grpc-java with TLS that answer TestService/UnaryCall; see SecureServers in ../cross/peers.mjs. */
public final class SecureServers {
  private static final Gson GSON = new Gson();
  private static final Metadata.Key<String> HOSTNAME =
      Metadata.Key.of("hostname", Metadata.ASCII_STRING_MARSHALLER);

  /** One line of input: a server to start. Paths; without a certificate it has no TLS. */
  private static final class Command {
    String name;
    String certificate = "";
    String key = "";

    /** The authorities of clients, which must present a certificate then. */
    String clientRoots = "";
  }

  private SecureServers() {}

  /** Answers lines until the input ends. */
  public static void main(String[] args) throws IOException {
    System.out.println("{}");
    BufferedReader input =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      Command command = GSON.fromJson(line, Command.class);
      int port =
          NettyServerBuilder.forAddress(
                  new InetSocketAddress("127.0.0.1", 0), credentialsOf(command))
              .addService(testService(command.name))
              .build()
              .start()
              .getPort();
      System.out.println(GSON.toJson(Map.of("port", port)));
    }
    System.exit(0);
  }

  private static ServerCredentials credentialsOf(Command command) throws IOException {
    if (command.certificate.isEmpty()) {
      return InsecureServerCredentials.create();
    }
    TlsServerCredentials.Builder builder =
        TlsServerCredentials.newBuilder()
            .keyManager(new File(command.certificate), new File(command.key));
    if (!command.clientRoots.isEmpty()) {
      builder
          .trustManager(new File(command.clientRoots))
          .clientAuth(TlsServerCredentials.ClientAuth.REQUIRE);
    }
    return builder.build();
  }

  private static ServerServiceDefinition testService(String name) {
    MethodDescriptor<byte[], byte[]> method =
        MethodDescriptor.newBuilder(Client.BYTES, Client.BYTES)
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("grpc.testing.TestService/UnaryCall")
            .build();
    return ServerServiceDefinition.builder("grpc.testing.TestService")
        .addMethod(method, answering(name))
        .build();
  }

  private static ServerCallHandler<byte[], byte[]> answering(String name) {
    return (call, headers) -> {
      call.request(2);
      return new ServerCall.Listener<>() {
        @Override
        public void onHalfClose() {
          Metadata named = new Metadata();
          named.put(HOSTNAME, name);
          call.sendHeaders(named);
          call.sendMessage(new byte[0]);
          call.close(Status.OK, new Metadata());
        }
      };
    };
  }
}
