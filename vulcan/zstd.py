"""Zstandard as the standard library has it from Python 3.14 on, and its backport before."""

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdDecompressor, ZstdDict, ZstdError, ZstdFile, compress
else:
    from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdDict, ZstdError, ZstdFile, compress

__all__ = ["DecompressionParameter", "ZstdDecompressor", "ZstdDict", "ZstdError", "ZstdFile", "compress"]
