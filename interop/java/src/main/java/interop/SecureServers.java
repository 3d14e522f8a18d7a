package interop;

import com.google.gson.Gson;
import io.grpc.InsecureServerCredentials;
import io.grpc.ServerCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Servers of grpc-java with TLS that answer TestService; see SecureServers in ../cross/peers.mjs. */
public final class SecureServers {
  private static final Gson GSON = new Gson();

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
              .addService(TestService.create(command.name, client -> {}))
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
}
