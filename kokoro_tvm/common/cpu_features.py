"""CPU features by LLVM's names, and their names in /proc/cpuinfo."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def _parse_table(words: str) -> Mapping[str, str]:
    """Return the names in /proc/cpuinfo by LLVM's name; a word without = is both."""
    pairs = (word.partition("=") for word in words.split())
    return {name: other or name for name, _, other in pairs}


# LLVM's name=the name in /proc/cpuinfo, of features that compilers and kernels use. Features that only
# operating systems use are not listed.
X86 = _parse_table("""
    sse2 sse3=pni ssse3 sse4.1=sse4_1 sse4.2=sse4_2 sse4a popcnt cx16 sahf=lahf_lm avx avx2 fma f16c bmi=bmi1
    bmi2 lzcnt=abm movbe adx prfchw=3dnowprefetch fma4 xop tbm aes pclmul=pclmulqdq sha=sha_ni gfni vaes
    vpclmulqdq avx512f avx512cd avx512bw avx512dq avx512vl avx512ifma avx512vbmi avx512vbmi2=avx512_vbmi2
    avx512vnni=avx512_vnni avx512bitalg=avx512_bitalg avx512vpopcntdq=avx512_vpopcntdq
    avx512vp2intersect=avx512_vp2intersect avx512bf16=avx512_bf16 avx512fp16=avx512_fp16 avxvnni=avx_vnni
    avxifma=avx_ifma avxvnniint8=avx_vnni_int8 avxvnniint16=avx_vnni_int16 avxneconvert=avx_ne_convert
    amx-tile=amx_tile amx-bf16=amx_bf16
""")
ARM = _parse_table("""
    fp-armv8=fp neon=asimd aes sha2 sha3 sm4 crc=crc32 lse=atomics lse2=uscat rdm=asimdrdm fullfp16=asimdhp
    fp16fml=asimdfhm dotprod=asimddp complxnum=fcma jsconv=jscvt rcpc=lrcpc rcpc-immo=ilrcpc flagm
    fptoint=frint i8mm bf16 sve sve2
""")

BFLOAT16 = "avx512bf16"
FLOAT16 = frozenset({"f16c", "neon"})  # each converts vectors of float16 to float32
# Tile registers that multiply bfloat16; a process has to request them from Linux.
AMX = frozenset({"amx-tile", "amx-bf16"})

# Extensions of one letter; asking Linux for others needs a kernel of 2023.
RISCV: Mapping[str, str] = {name: name for name in "mafdcv"}

# WebAssembly: a fused multiply-add, which CPUs round differently.
RELAXED = "relaxed-simd"
# An engine that lacks one refuses to compile the module.
WASM: Mapping[str, str] = {name: name for name in ("simd128", "atomics", RELAXED)}

FEATURES = {"x86_64": X86, "aarch64": ARM, "riscv64": RISCV, "wasm32": WASM}
"""Names in /proc/cpuinfo by architecture and LLVM's name."""

_V2 = frozenset({"sse2", "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "sahf"})
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
# Recipes whose bundles run on every CPU of a level, the highest level first, and the features of the level.
PORTABLE: Mapping[str, frozenset[str]] = {"x86-64-v4": _V4, "x86-64-v3": _V3, "x86-64-v2": _V2}


def features_of_cpu(cpuinfo: Path = CPUINFO) -> frozenset[str] | None:
    """Return the features of this CPU by LLVM's names, or None if the system does not list them."""
    if not cpuinfo.is_file():
        return None
    with cpuinfo.open(encoding="utf-8") as lines:  # only the first core is read: the file is slow
        for line in lines:
            key, _, words = line.partition(":")
            if key.strip() in ("flags", "Features"):
                flags = set(words.split())
                table = ARM if "asimd" in flags else X86
                return frozenset(name for name, word in table.items() if word in flags)
            if key.strip() == "isa":  # rv64imafdc_zicsr_zifencei
                letters = words.strip().removeprefix("rv64").partition("_")[0]
                return frozenset(letters) & RISCV.keys()
    return None
