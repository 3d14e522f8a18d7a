package interop;

import com.sun.management.OperatingSystemMXBean;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;

/** Makes a call whenever one is due, and measures how long each takes from then on. */
final class Probe {
  private static final OperatingSystemMXBean SYSTEM =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
  private static final MethodDescriptor<byte[], byte[]> METHOD =
      MethodDescriptor.newBuilder(Client.BYTES, Client.BYTES)
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName("grpc.testing.TestService/EmptyCall")
          .build();

  /** What was measured since the last result. */
  record Result(double slowestMs, int calls, int failed, double cpuMs) {}

  private final ManagedChannel channel;

  /** By call, when it was due. */
  private final Map<Long, Long> pending = new HashMap<>();

  private long slowestNanos;
  private int calls;
  private int failed;
  private long cpuNanos = SYSTEM.getProcessCpuTime();

  Probe(ManagedChannel channel, int intervalMs) {
    this.channel = channel;
    Thread thread = new Thread(() -> run(intervalMs * 1_000_000L));
    thread.setDaemon(true);
    thread.start();
  }

  private void run(long intervalNanos) {
    long due = System.nanoTime();
    for (long number = 0; ; number++) {
      due += intervalNanos;
      long waitNanos = due - System.nanoTime();
      if (waitNanos > 0) {
        try {
          Thread.sleep(waitNanos / 1_000_000, (int) (waitNanos % 1_000_000));
        } catch (InterruptedException e) {
          return;
        }
      }
      begin(number, due);
    }
  }

  private void begin(long number, long due) {
    synchronized (this) {
      pending.put(number, due);
    }
    ClientCall<byte[], byte[]> call =
        channel.newCall(METHOD, CallOptions.DEFAULT.withWaitForReady());
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            end(number, status);
          }
        },
        new Metadata());
    call.sendMessage(new byte[0]);
    call.halfClose();
    call.request(2);
  }

  private synchronized void end(long number, Status status) {
    calls++;
    if (!status.isOk()) {
      failed++;
    }
    slowestNanos = Math.max(slowestNanos, System.nanoTime() - pending.remove(number));
  }

  /** Returns the result, and begins the next one. */
  synchronized Result measured() {
    long now = System.nanoTime();
    for (long due : pending.values()) {
      slowestNanos = Math.max(slowestNanos, now - due);
    }
    long cpuNow = SYSTEM.getProcessCpuTime();
    Result result = new Result(slowestNanos / 1e6, calls, failed, (cpuNow - cpuNanos) / 1e6);
    slowestNanos = 0;
    calls = 0;
    failed = 0;
    cpuNanos = cpuNow;
    return result;
  }
}
