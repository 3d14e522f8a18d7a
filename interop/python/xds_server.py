"""xDS servers of gRPC's C-core, directed by lines of JSON; see ../cross/peers.mjs."""

import json
import socket
import sys
from concurrent import futures

import grpc

HOST = "127.0.0.1"


def free_port() -> int:
    """Servers request their Listener by the port that they are given, which must not be 0."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def serve() -> tuple[grpc.Server, dict]:
    """Starts a server, which requests its Listener."""
    port = free_port()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=1), xds=True)
    fallback = grpc.insecure_server_credentials()
    server.add_secure_port(f"{HOST}:{port}", grpc.xds_server_credentials(fallback))
    server.start()
    return server, {"host": HOST, "port": port}


def say(answer: dict) -> None:
    print(json.dumps(answer), flush=True)


def main() -> None:
    # A server stops when it is no longer referred to.
    servers = []
    say({})
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] != "serve":
            say({"error": f"{command['do']} is not known"})
            continue
        server, answer = serve()
        servers.append(server)
        say(answer)


if __name__ == "__main__":
    main()
