package interop;

import com.google.gson.Gson;
import com.google.gson.annotations.SerializedName;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.xds.XdsServerBuilder;
import io.grpc.xds.XdsServerCredentials;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** xDS servers of grpc-java; see xdsServers in ../cross/peers.mjs. */
public final class XdsServers {
  private static final Gson GSON = new Gson();

  /** The address whose Listener servers of a port request. */
  private static final String HOST = "0.0.0.0";

  /** One line of input. */
  private static final class Command {
    @SerializedName("do")
    String action;

    String name;
    int port;
  }

  /** The addresses from which calls came: one for each connection. */
  private final Set<SocketAddress> clients = ConcurrentHashMap.newKeySet();

  private final AtomicInteger calls = new AtomicInteger();

  private XdsServers() {}

  /** Answers lines until the input ends. */
  public static void main(String[] args) throws IOException {
    XdsServers servers = new XdsServers();
    System.out.println("{}");
    BufferedReader input =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      System.out.println(GSON.toJson(servers.handle(GSON.fromJson(line, Command.class))));
    }
    System.exit(0);
  }

  private Map<String, ?> handle(Command command) {
    switch (command.action) {
      case "serve":
        return serve(command);
      case "seen":
        return Map.of("connections", clients.size(), "calls", calls.get());
      default:
        return Map.of("error", command.action + " is not known");
    }
  }

  private Map<String, ?> serve(Command command) {
    Server server =
        XdsServerBuilder.forPort(
                command.port, XdsServerCredentials.create(InsecureServerCredentials.create()))
            .addService(TestService.create(command.name, this::count))
            .build();
    // Starting takes until there is a Listener.
    Thread starting = new Thread(() -> start(server));
    starting.setDaemon(true);
    starting.start();
    return Map.of("host", HOST, "port", command.port);
  }

  private static void start(Server server) {
    try {
      server.start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void count(SocketAddress client) {
    calls.incrementAndGet();
    clients.add(client);
  }
}
