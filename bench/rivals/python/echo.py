"""An echo server on asyncio: a task for each connection, which sends back what it reads,
or a Protocol, whose method is called with it.

Arguments: the event loop, asyncio or uvloop; the size of a connection's buffer in
bytes; streams or protocol. It prints its address, and ends when its standard input ends.
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


class Echo(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.transport.write(data)

    def pause_writing(self):
        self.transport.pause_reading()

    def resume_writing(self):
        self.transport.resume_reading()


async def serve(buffer, way):
    if way == "protocol":
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Echo, "127.0.0.1", 0, backlog=4096)
    else:
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
    loop, buffer, way = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    threading.Thread(target=end_with_input, daemon=True).start()
    if loop == "uvloop":
        import uvloop

        uvloop.run(serve(buffer, way))
    else:
        asyncio.run(serve(buffer, way))


main()
