"""Measure a client's own cost: 1319 calls, 64 in flight, against a loopback server of 200 ms latency.

Run `python -m tests.benchmarks.clients`. The span is given as a ratio to the limit (calls x latency /
concurrency), CPU as milliseconds a call of this process; the server runs in a process of its own. Calls are made on
the asking thread, as a run makes them: there the garbage collector is told to look seldom, and not at what was
imported. What bare sockets reach against the same server is the floor: the server's own share, and the machine's.
"""

import asyncio
import json
import time

from basic_control.config.settings import Model
from basic_control.data.records import Call, Message
from basic_control.tasks.models.scheduler import event_loop_thread
from basic_control.tasks.query import client_of
from tests.servers import serve_ollama, serve_openai

CALLS, IN_FLIGHT, LATENCY_S = 1319, 64, 0.2
TEXT = "A robe takes 2 bolts of blue fiber and half that much white fiber. How many bolts in total does it take? "
PARAMETERS = {"temperature": 0.0, "seed": 0, "max_tokens": 512}


async def span(model: Model) -> tuple[float, float]:
    """Return the seconds that all calls took, and the CPU seconds, after a warm-up of one round."""
    client = client_of(model)
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def ask(number: int) -> None:
        async with gate:
            await client.ask(Call((Message("user", TEXT + str(number)),), PARAMETERS))

    await asyncio.gather(*(ask(number) for number in range(IN_FLIGHT)))
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(ask(number) for number in range(CALLS)))
    return time.perf_counter() - wall, time.process_time() - cpu


async def floor(port: int) -> float:
    """Return the seconds that as many requests take over bare sockets."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": TEXT}]}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n"
    request = (head + "Content-Type: application/json\r\n\r\n").encode() + body
    left = CALLS

    async def walk() -> None:
        nonlocal left
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while left:
            left -= 1
            writer.write(request)
            headers = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = headers.partition(b"content-length:")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(walk() for _ in range(IN_FLIGHT)))
    return time.perf_counter() - started


def main() -> None:
    """Print one line for each provider."""
    limit = CALLS * LATENCY_S / IN_FLIGHT
    with serve_openai("#### 3", latency_s=LATENCY_S, apart=True) as server:
        print(f"bare sockets: span {asyncio.run(floor(server.port)) / limit:.3f} x limit")
    for provider, serve in (("openai", serve_openai), ("ollama", serve_ollama)):
        with serve("It takes 2/2=<<2/2=1>>1 bolt.\n#### 3", latency_s=LATENCY_S, apart=True) as server:
            model = Model.model_validate({"name": "m", "provider": provider, "base_url": server.base_url})
            wall, cpu = event_loop_thread().call(span(model))
        print(f"{provider}: span {wall / limit:.3f} x limit ({wall:.2f} s), CPU {1000 * cpu / CALLS:.2f} ms a call")


if __name__ == "__main__":
    main()
