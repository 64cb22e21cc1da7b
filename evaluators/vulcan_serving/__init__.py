"""A simulator of language-model servers: engines with continuous batching and a KV cache, and routers before them."""
