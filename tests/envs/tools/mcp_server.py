"""A small MCP server over standard input and output, which tests start."""

from __future__ import annotations

import os
import time

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("tests")
_count = 0


@server.tool()
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail(text: str) -> str:
    """Fail with a message."""
    raise ToolError(text)


@server.tool()
def count() -> int:
    """Count the calls of this tool."""
    global _count
    _count += 1
    return _count


@server.tool()
def wait(seconds: float) -> str:
    """Wait."""
    time.sleep(seconds)
    return "done"


@server.tool()
def end() -> str:
    """End the server."""
    os._exit(1)


if __name__ == "__main__":
    server.run()
