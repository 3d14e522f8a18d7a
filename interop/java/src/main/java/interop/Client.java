package interop;

import com.google.gson.Gson;
import com.google.gson.annotations.SerializedName;
import io.grpc.CallOptions;
import io.grpc.ChannelCredentials;
import io.grpc.ClientCall;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.xds.XdsChannelCredentials;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The xDS client of grpc-java as a program that is directed by lines of JSON; see ../cross/peers.mjs. */
public final class Client {
  private static final Gson GSON = new Gson();
  private static final Metadata.Key<String> HOSTNAME =
      Metadata.Key.of("hostname", Metadata.ASCII_STRING_MARSHALLER);

  /** One line of input. */
  private static final class Command {
    @SerializedName("do")
    String action;


    String target;
    int count;
    Map<String, String> headers = Map.of();
    String method = "UnaryCall";
    int timeoutMs;
    int intervalMs;

    /** Whether the control plane decides how connections are secured. */
    boolean secure;

    /** Whether calls fail where they would have to wait for a connection. */
    boolean failFast;
  }

  /** What became of calls: how many each server answered, and how many ended with each status. */
  private static final class Counts {
    final Map<String, Integer> peers = new TreeMap<>();
    final Map<String, Integer> codes = new TreeMap<>();
    String message = "";
  }

  /** Messages as they are: requests are empty, answers are not looked at. */
  static final MethodDescriptor.Marshaller<byte[]> BYTES =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] value) {
          return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
          try {
            return stream.readAllBytes();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        }
      };

  private final Map<String, ManagedChannel> channels = new HashMap<>();

  private Probe probe;

  private Client() {}

  /** Answers lines until the input ends. */
  public static void main(String[] args) throws IOException {
    Client client = new Client();
    System.out.println("{}");
    BufferedReader input =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      Object answer = client.handle(GSON.fromJson(line, Command.class));
      System.out.println(GSON.toJson(answer));
    }
    System.exit(0);
  }

  private Object handle(Command command) {
    switch (command.action) {
      case "close":
        ManagedChannel closed = channels.remove(command.target);
        if (closed != null) {
          closed.shutdownNow();
        }
        return Map.of();
      case "watch":
        channel(command).getState(true);
        return Map.of();
      case "probe":
        probe = new Probe(channel(command), command.intervalMs);
        return Map.of();
      case "measured":
        return probe.measured();
      default:
        return callMany(channel(command), command);
    }
  }

  private ManagedChannel channel(Command command) {
    ChannelCredentials fallback = InsecureChannelCredentials.create();
    ChannelCredentials credentials =
        command.secure ? XdsChannelCredentials.create(fallback) : fallback;
    return channels.computeIfAbsent(
        command.target, name -> Grpc.newChannelBuilder(name, credentials).build());
  }

  private static Counts callMany(ManagedChannel channel, Command command) {
    Counts counts = new Counts();
    MethodDescriptor<byte[], byte[]> method =
        MethodDescriptor.newBuilder(BYTES, BYTES)
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("grpc.testing.TestService/" + command.method)
            .build();
    for (int i = 0; i < command.count; i++) {
      Outcome outcome = callOnce(channel, method, command);
      counts.codes.merge(String.valueOf(outcome.status.getCode().value()), 1, Integer::sum);
      if (outcome.status.isOk()) {
        counts.peers.merge(outcome.hostname, 1, Integer::sum);
      } else {
        counts.message = describe(outcome.status);
      }
    }
    return counts;
  }

  /** The description, which often says little, and what caused it. */
  private static String describe(Status status) {
    StringBuilder text = new StringBuilder(String.valueOf(status.getDescription()));
    for (Throwable cause = status.getCause(); cause != null; cause = cause.getCause()) {
      text.append(": ").append(cause.getMessage());
    }
    return text.toString();
  }

  private record Outcome(Status status, String hostname) {}

  private static Outcome callOnce(
      ManagedChannel channel, MethodDescriptor<byte[], byte[]> method, Command command) {
    Metadata headers = new Metadata();
    command.headers.forEach(
        (key, value) ->
            headers.put(Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER), value));
    CallOptions options =
        CallOptions.DEFAULT.withDeadlineAfter(command.timeoutMs, TimeUnit.MILLISECONDS);
    ClientCall<byte[], byte[]> call =
        channel.newCall(method, command.failFast ? options : options.withWaitForReady());
    CompletableFuture<Outcome> ended = new CompletableFuture<>();
    call.start(
        new ClientCall.Listener<>() {
          private String hostname = "";

          @Override
          public void onHeaders(Metadata received) {
            if (received.containsKey(HOSTNAME)) {
              hostname = received.get(HOSTNAME);
            }
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            ended.complete(new Outcome(status, hostname));
          }
        },
        headers);
    call.sendMessage(new byte[0]);
    call.halfClose();
    call.request(2);
    return ended.join();
  }
}
