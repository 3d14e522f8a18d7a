"""The xDS client of gRPC's C-core as a program that is directed by lines of JSON; see ../cross/peers.mjs."""

import json
import sys

import grpc
import grpc.experimental

from probe import Probe

METHODS = {
    name: f"/grpc.testing.TestService/{name}" for name in ("UnaryCall", "EmptyCall")
}


def unchanged(message: bytes) -> bytes:
    """Messages are sent and received as they are: requests are empty, answers are not looked at."""
    return message


def call_many(channel: grpc.Channel, command: dict) -> dict:
    """Calls one after the other, and counts the servers that answered and the statuses."""
    stub = channel.unary_unary(
        METHODS[command.get("method", "UnaryCall")],
        request_serializer=unchanged,
        response_deserializer=unchanged,
    )
    metadata = tuple(command.get("headers", {}).items())
    peers: dict[str, int] = {}
    codes: dict[str, int] = {}
    message = ""
    for _ in range(command["count"]):
        try:
            _, call = stub.with_call(
                b"",
                timeout=command["timeoutMs"] / 1000,
                metadata=metadata,
                wait_for_ready=not command.get("failFast", False),
            )
        except grpc.RpcError as error:
            code = str(error.code().value[0])
            message = error.details() or ""
        else:
            code = "0"
            peer = str(dict(call.initial_metadata()).get("hostname", ""))
            peers[peer] = peers.get(peer, 0) + 1
        codes[code] = codes.get(code, 0) + 1
    return {"peers": peers, "codes": codes, "message": message}


class Client:
    """Channels by target; each stays open until it is closed."""

    def __init__(self) -> None:
        self.channels: dict[str, grpc.Channel] = {}
        self.watches: dict[str, grpc.Future] = {}
        self.probe: Probe | None = None

    def handle(self, command: dict) -> dict:
        if command["do"] == "measured" and self.probe is not None:
            return self.probe.measured()
        target = command["target"]
        if command["do"] == "close":
            watch = self.watches.pop(target, None)
            if watch is not None:
                watch.cancel()
            channel = self.channels.pop(target, None)
            if channel is not None:
                channel.close()
            return {}
        channel = self.channels.get(target)
        if channel is None:
            # Without a pool of its own, a channel could share a connection state with one that was closed.
            options = (("grpc.use_local_subchannel_pool", 1),)
            if command.get("secure", False):
                fallback = grpc.experimental.insecure_channel_credentials()
                credentials = grpc.xds_channel_credentials(fallback)
                channel = grpc.secure_channel(target, credentials, options)
            else:
                channel = grpc.insecure_channel(target, options)
            self.channels[target] = channel
        if command["do"] == "watch":
            # A call, because subscribing to the state of the channel polls it five times a second.
            stub = channel.unary_unary(METHODS["EmptyCall"])
            self.watches[target] = stub.future(b"", wait_for_ready=True)
            return {}
        if command["do"] == "probe":
            stub = channel.unary_unary(METHODS["EmptyCall"])
            self.probe = Probe(stub, command["intervalMs"])
            return {}
        return call_many(channel, command)


def say(answer: dict) -> None:
    print(json.dumps(answer), flush=True)


def main() -> None:
    client = Client()
    say({})
    for line in sys.stdin:
        say(client.handle(json.loads(line)))


if __name__ == "__main__":
    main()
