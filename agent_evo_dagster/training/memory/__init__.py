"""Memory: which part of a conversation that has grown too long is kept. No agent, no environment."""
