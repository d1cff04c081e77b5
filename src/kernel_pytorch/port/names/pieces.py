"""The pieces of CUDA names that a macro may glue to something with `##`."""

from __future__ import annotations

DRIVER_PIECE = b"cu"  # of `cu##name`; two letters that need not be CUDA's
_STARTS = (
    b"cuda", b"cublas", b"cufft", b"curand", b"cusparse", b"cusolver", b"cudnn", b"nvrtc", b"nvtx", b"CUDA_",
    b"CUBLAS_", b"CUFFT_", b"CURAND_", b"CUSPARSE_", b"CUSOLVER_", b"CUDNN_", b"CU_", b"__nv_",
)  # fmt: skip


def may_be_piece(word: bytes) -> bool:
    """Whether a word that is glued to another could be the front of a CUDA name."""
    return word == DRIVER_PIECE or word.startswith(_STARTS)
