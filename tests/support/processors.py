"""What the processor that tests run on can do."""

import pathlib


def multiplies_bytes() -> bool:
    """Whether products of uint8 and int8 are summed in int32; elsewhere weights lose their last bit."""
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    return "avx512_vnni" in flags or "avx_vnni" in flags
