"""Real HTTP servers on loopback that speak as OpenAI's and Ollama's do, well or badly, as a script says."""

from tests.servers.running import Server, serve, serve_ollama, serve_openai
from tests.servers.script import Answer, Fault, Seen, last_user

__all__ = ["Answer", "Fault", "Seen", "Server", "last_user", "serve", "serve_ollama", "serve_openai"]
