"""An echo server on asyncio: a task for each connection, which sends back what it reads.

Arguments: the event loop, asyncio or uvloop; the size of a connection's buffer in
bytes. It prints its address, and ends when its standard input ends.
"""

import asyncio
import os
import socket
import sys
import threading


async def echo(reader, writer, buffer):
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        while data := await reader.read(buffer):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass  # the load may end a connection with a reset
    finally:
        writer.close()


async def serve(buffer):
    server = await asyncio.start_server(
        lambda reader, writer: echo(reader, writer, buffer), "127.0.0.1", 0, backlog=4096
    )
    host, port = server.sockets[0].getsockname()
    print(f"{host}:{port}", flush=True)
    await server.serve_forever()


def end_with_input():
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)


def main():
    loop, buffer = sys.argv[1], int(sys.argv[2])
    threading.Thread(target=end_with_input, daemon=True).start()
    if loop == "uvloop":
        import uvloop

        uvloop.run(serve(buffer))
    else:
        asyncio.run(serve(buffer))


main()
