"""The folder and the MCP servers that one attempt gets, and nothing else."""
