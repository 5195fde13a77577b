"""Measure a client's own cost: 1319 calls, 64 in flight, against a loopback server of 200 ms latency.

Run `python -m tests.benchmarks.clients`. The span is given as a ratio to the limit (calls x latency /
concurrency), CPU as milliseconds a call of this process; the server runs in a process of its own.
"""

import asyncio
import time

from config.settings import Model
from data.records import Call, Message
from tasks.clients import open_client
from tests.servers import serve_ollama, serve_openai

CALLS, IN_FLIGHT, LATENCY_S = 1319, 64, 0.2
TEXT = "A robe takes 2 bolts of blue fiber and half that much white fiber. How many bolts in total does it take? "
PARAMETERS = {"temperature": 0.0, "seed": 0, "max_tokens": 512}


async def span(model: Model) -> tuple[float, float]:
    """Return the seconds that all calls took, and the CPU seconds, after a warm-up of one round."""
    client = open_client(model)
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def ask(number: int) -> None:
        async with gate:
            await client.ask(Call((Message("user", TEXT + str(number)),), PARAMETERS))

    await asyncio.gather(*(ask(number) for number in range(IN_FLIGHT)))
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(ask(number) for number in range(CALLS)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    await client.close()
    return wall, cpu


def main() -> None:
    """Print one line for each provider."""
    limit = CALLS * LATENCY_S / IN_FLIGHT
    for provider, serve in (("openai", serve_openai), ("ollama", serve_ollama)):
        with serve("It takes 2/2=<<2/2=1>>1 bolt.\n#### 3", latency_s=LATENCY_S, apart=True) as server:
            model = Model.model_validate({"name": "m", "provider": provider, "base_url": server.base_url})
            wall, cpu = asyncio.run(span(model))
        print(f"{provider}: span {wall / limit:.3f} x limit ({wall:.2f} s), CPU {1000 * cpu / CALLS:.2f} ms a call")


if __name__ == "__main__":
    main()
