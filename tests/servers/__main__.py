"""Run a server by hand: `python -m tests.servers ollama 11434` answers with the embedded model until Ctrl-C."""

import asyncio
import sys

from tests.servers.forwarding import embedded
from tests.servers.running import BUILD, Kind, attend, listen
from tests.servers.script import Script


async def stand(kind: Kind, port: int) -> None:
    """Serve the embedded model under the names of the seed's configuration."""
    names = ("llama3:8b", "phi3:latest", "janhq/Jan-v1-4B-GGUF:latest", "smollm2:135m")
    script = Script(embedded, models={name: name.encode().hex().ljust(64, "0") for name in names})
    _, bound = await listen(BUILD[kind](script), port)
    print(f"{kind} at http://127.0.0.1:{bound}")  # noqa: T201 - said to whoever started it
    await asyncio.Event().wait()


def main() -> None:
    """Attend to a parent (`--apart KIND PORT`), or stand alone (`KIND PORT`)."""
    words = [word for word in sys.argv[1:] if word != "--apart"]
    kind: Kind = "ollama" if words[0] == "ollama" else "openai"
    asyncio.run((attend if "--apart" in sys.argv else stand)(kind, int(words[1])))


if __name__ == "__main__":
    main()
